//! HTTP API for secrets: a user's own (set, remove, list), and those that operators set for everyone. No
//! route ever returns a value.

use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use kitbag_access::values::audit::Act;
use kitbag_access::values::vault::{EveryoneOptions, MAX_VALUE_BYTES, Rotated, SecretStatus};
use kitbag_access::{Operator, StoredSecret, User};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::body::{Unread, read_small};
use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Result of setting a secret.
#[derive(Serialize)]
pub(super) struct Stored {
    name: String,
    /// Whether the value is redacted in all output of the sandbox; values that are too short are not.
    redacted: bool,
}

/// `GET /toolkits/{id}/secrets`
pub(super) async fn list(
    By(user): By<User>,
    Path(id): Path<String>,
) -> Result<Json<Vec<SecretStatus>>, WebError> {
    Ok(Json(user.stored_for(&id).secrets().await?))
}

/// Query string: the users for whom a value is set or removed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ForWhom {
    /// For all users of the toolkit; operators only.
    for_everyone: bool,
    /// Takes precedence over values that users have set themselves.
    only: bool,
    /// Allows a secret that the toolkit can read.
    readable: bool,
}

/// `PUT /toolkits/{id}/secrets/{name}`: the raw value as the body.
pub(super) async fn set(
    By(user): By<User>,
    Path((id, name)): Path<(String, String)>,
    Query(whom): Query<ForWhom>,
    body: Body,
) -> Result<Json<Stored>, WebError> {
    let secret = user.secret(&id, &name)?;
    let body = read_small(body, MAX_VALUE_BYTES).await.map_err(|why| match why {
        Unread::TooLarge => {
            let detail = format!("The value is longer than {MAX_VALUE_BYTES} bytes.");
            WebError::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        other => WebError::unread(other, MAX_VALUE_BYTES),
    })?;
    let text = std::str::from_utf8(&body)
        .map_err(|_| WebError::new(StatusCode::UNPROCESSABLE_ENTITY, "The value must be UTF-8."))?;
    let value = SecretString::from(text);
    let StoredSecret { name, redacted } = if whom.for_everyone {
        let what = Act::SecretSetForEveryone.name();
        let operator = user.expect_operator(what, Some(&id)).await?;
        let options = EveryoneOptions { only: whom.only, readable: whom.readable };
        operator.set_secret_for_everyone(&secret, &value, options).await?
    } else if whom.only || whom.readable {
        return Err(WebError::invalid(
            "only",
            "and `readable` are for values for everyone: add `for-everyone=true`",
        ));
    } else {
        user.set_secret(&secret, &value).await?
    };
    Ok(Json(Stored { name, redacted }))
}

/// `DELETE /toolkits/{id}/secrets/{name}`
pub(super) async fn unset(
    By(user): By<User>,
    Path((id, name)): Path<(String, String)>,
    Query(whom): Query<ForWhom>,
) -> Result<StatusCode, WebError> {
    if whom.for_everyone {
        let operator = user.expect_operator(Act::SecretUnsetForEveryone.name(), None).await?;
        operator.unset_secret_for_everyone(&id, &name).await?;
    } else {
        user.stored_for(&id).unset_secret(&name).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /vault/rotate`: re-encrypts every record with a new master key.
pub(super) async fn rotate(By(operator): By<Operator>) -> Result<Json<Rotated>, WebError> {
    Ok(Json(operator.rotate_master_key().await?))
}
