//! HTTP API for API keys of programs. A key cannot create or revoke keys: its access could outlive its
//! revocation.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};
use kitbag_access::{Unreachable, User};
use kitbag_base::json_object::JsonObject;
use kitbag_identity::{Groups, NewKey, ProgramKey, ProgramKeys};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::error::WebError;
use super::pages::NOT_STORED;
use super::state::Shared;
use crate::authenticate::By;
use crate::json::Json;

/// Lifetime of a key unless the request says another one, or the maximum lifetime is shorter.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// Maximum bytes of the body that creates a key.
const MAX_BODY_BYTES: usize = 64 << 10;

/// Body of a request to create a key.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    name: String,
    toolkits: Option<BTreeSet<String>>,
    lifetime: Option<Lifetime>,
}

/// Lifetime of a key: seconds, or `never` for a key that does not expire.
#[derive(Deserialize)]
#[serde(untagged, expecting = "lifetime is a number of seconds, or \"never\"")]
enum Lifetime {
    Seconds(i64),
    Endless(Never),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Never {
    Never,
}

/// Metadata of a key, without the secret. Times are RFC 3339, UTC.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    id: String,
    name: String,
    made_by: Option<String>,
    toolkits: Option<BTreeSet<String>>,
    created_at: String,
    expires_at: Option<String>,
    used_at: Option<String>,
    /// From when on the key is refused until its user signs in again, unless they do so before; `None`: never.
    pauses_at: Option<String>,
    /// Toolkits that the key does not reach at present: of those that it is limited to, or else of those that
    /// its user sees.
    unreachable: Vec<Unreachable>,
}

/// A new key, with the secret.
#[derive(Serialize)]
struct Made {
    key: String,
    #[serde(flatten)]
    listed: Listed,
}

/// `GET /keys`: the caller's keys.
pub(super) async fn list(
    By(user): By<User>,
    State(shared): State<Shared>,
) -> Result<Json<Vec<Listed>>, WebError> {
    let keys = keys(&shared)?.of_user(user.id()).await.map_err(|cause| WebError::storage(&cause))?;
    let groups = user.groups_of_keys().await?;
    Ok(Json(keys.into_iter().map(|key| Listed::of(&user, &groups, key)).collect()))
}

/// `POST /keys`: body `{"name": …, "toolkits": […], "lifetime": seconds | "never"}`. The key is in this
/// response only.
pub(super) async fn create(
    By(user): By<User>,
    State(shared): State<Shared>,
    body: Body,
) -> Result<Response, WebError> {
    let keys = of_person(&user, &shared)?;
    let body = read_small(body, MAX_BODY_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_BODY_BYTES))?;
    let wanted = serde_json::from_slice(&body);
    let JsonObject::<Wanted>(Wanted { name, toolkits, lifetime }) =
        wanted.map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    let end = match lifetime {
        Some(Lifetime::Seconds(seconds)) => {
            Some(Timestamp::now().checked_add(SignedDuration::from_secs(seconds)))
        }
        Some(Lifetime::Endless(Never::Never)) => None,
        None => {
            let longest = keys.limits().lifetime.unwrap_or(DEFAULT_LIFETIME);
            Some(Timestamp::now().checked_add(longest.min(DEFAULT_LIFETIME)))
        }
    };
    let expires_at = end.transpose().map_err(|_| {
        WebError::new(StatusCode::UNPROCESSABLE_ENTITY, "A key that lasts so long is one that never expires.")
    })?;
    user.admit_own_act()?;
    let made_by = user.client().map(str::to_owned);
    let (key, made) = keys.create(user.id(), NewKey { name, made_by, toolkits, expires_at }).await?;
    let made = Made {
        key: key.expose_secret().to_owned(),
        listed: Listed::of(&user, &user.groups_of_keys().await?, made),
    };
    Ok((StatusCode::CREATED, NOT_STORED, Json(made)).into_response())
}

/// `DELETE /keys/{id}`: revokes a key of the caller.
pub(super) async fn revoke(
    By(user): By<User>,
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    let was_there = of_person(&user, &shared)?.revoke(&user.actor(), &id).await;
    if was_there.map_err(|cause| WebError::storage(&cause))? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(WebError::new(StatusCode::NOT_FOUND, "You have no such key."))
    }
}

fn keys(shared: &Shared) -> Result<&ProgramKeys, WebError> {
    shared.program_keys.as_ref().ok_or_else(|| {
        WebError::new(StatusCode::FORBIDDEN, "This server takes no keys of programs (setting `keys`).")
    })
}

/// The key service; 403 for a caller that signed in with a key itself.
fn of_person<'s>(user: &User, shared: &'s Shared) -> Result<&'s ProgramKeys, WebError> {
    if user.is_program() {
        return Err(WebError::new(
            StatusCode::FORBIDDEN,
            "A key makes and revokes no keys: sign in for that.",
        ));
    }
    keys(shared)
}

impl Listed {
    fn of(user: &User, groups: &Groups, key: ProgramKey) -> Self {
        let unreachable = user.unreachable_with_key(key.toolkits.as_ref(), groups);
        let ProgramKey { id, name, made_by, toolkits, created_at, expires_at, used_at, pauses_at } = key;
        let [expires_at, used_at, pauses_at] =
            [expires_at, used_at, pauses_at].map(|time| time.map(|time| time.to_string()));
        let created_at = created_at.to_string();
        Self { id, name, made_by, toolkits, created_at, expires_at, used_at, pauses_at, unreachable }
    }
}
