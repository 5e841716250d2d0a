//! Account page: signed-in browsers and keys; in local mode also programs with a grant.

pub(super) mod browser;

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use kitbag_access::User;
use kitbag_identity::{BrowserSession, GrantedClient, Groups, ProgramKey};
use serde::{Deserialize, Serialize};

use super::frame::{self, Frame, Section};
use super::sign_in::signed_out;
use super::text;
use crate::authenticate::By;
use crate::error::WebError;
use crate::sessions::{Sessions, SignInMode};

/// Outcome of a form of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Done {
    SessionEnded,
    ClientRevoked,
    KeyRevoked,
}

/// Query string of the page.
#[derive(Deserialize)]
pub(super) struct After {
    done: Option<Done>,
}

#[derive(Template)]
#[template(path = "ui/templates/account.html")]
struct AccountPage {
    frame: Option<Frame>,
    user: String,
    is_operator: bool,
    /// External provider of the sign-in, if any.
    issuer: Option<String>,
    /// `None` if the provider manages the sessions.
    sessions: Option<Vec<Session>>,
    /// Programs with a grant, in local mode.
    clients: Option<Vec<Program>>,
    /// `None` if the operator forbids keys.
    keys: Option<Vec<Key>>,
    /// How long the audit log keeps each call of the user, such as `90 days`; `None` if it has no calls.
    recorded_for: Option<String>,
    done: Option<Done>,
}

/// A signed-in browser.
struct Session {
    id: String,
    /// Display name of the browser.
    browser: String,
    is_current: bool,
    signed_in: String,
    last_used: String,
}

/// A key of a program that acts for the user.
struct Key {
    id: String,
    name: String,
    /// The client that created it, if any.
    made_by: Option<String>,
    /// Description of its permissions.
    scope: String,
    /// Ids of the toolkits that it does not reach at present, separated by commas.
    unreachable: String,
    ends: String,
    last_used: String,
    /// When it pauses unless the user signs in before.
    pauses: Option<String>,
}

/// A program that may act for the user.
struct Program {
    id: String,
    name: Option<String>,
    sign_ins: String,
    ends: String,
}

impl Done {
    fn message(self) -> &'static str {
        match self {
            Self::SessionEnded => "The session has ended.",
            Self::ClientRevoked => {
                "The program gets no further tokens. An access token that it has may stay valid for up to an hour."
            }
            Self::KeyRevoked => "The key is good no longer.",
        }
    }

    fn page(self) -> Redirect {
        let done = serde_json::to_value(self).expect("a name");
        Redirect::to(&format!("/ui/account?done={}", done.as_str().unwrap_or_default()))
    }
}

/// `GET /ui/account`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    State(sessions): State<Sessions>,
    current: Option<Extension<BrowserSession>>,
    Query(After { done }): Query<After>,
) -> Result<Response, WebError> {
    let (issuer, clients) = match &sessions.mode {
        SignInMode::Local(server) => {
            let clients = server.granted_clients(user.id()).await;
            let clients = clients.map_err(|cause| WebError::storage(&cause))?;
            (None, Some(clients.into_iter().map(Program::from).collect()))
        }
        SignInMode::Provider(provider) => (Some(provider.issuer().to_owned()), None),
        SignInMode::ProviderCookie { identity, .. } => (Some(identity.issuer().to_owned()), None),
    };
    let listed = match current {
        Some(Extension(current)) => {
            let all = sessions.stored.of_user(user.id()).await.map_err(|cause| WebError::storage(&cause))?;
            Some(all.into_iter().map(|session| Session::of(session, &current)).collect())
        }
        None => None,
    };
    let keys = match &sessions.keys {
        Some(keys) => {
            let keys = keys.of_user(user.id()).await.map_err(|cause| WebError::storage(&cause))?;
            let groups = user.groups_of_keys().await?;
            Some(keys.into_iter().map(|key| Key::of(&user, &groups, key)).collect())
        }
        None => None,
    };
    let page = AccountPage {
        user: user.id().to_owned(),
        is_operator: user.is_operator(),
        issuer,
        sessions: listed,
        clients,
        keys,
        recorded_for: user.calls_recorded_for().map(retention),
        done,
        frame: Some(frame.at(Section::Account)),
    };
    Ok(frame::page(StatusCode::OK, &page))
}

/// Formats a retention in whole days, or hours below one day.
fn retention(time: Duration) -> String {
    let hours = time.as_secs() / 3600;
    if hours < 24 { text::count(hours, "hour") } else { text::count(hours / 24, "day") }
}

impl Session {
    fn of(session: BrowserSession, current: &BrowserSession) -> Self {
        Self {
            is_current: session.id == current.id,
            signed_in: text::minute(&session.created_at.to_string()),
            last_used: text::minute(&session.used_at.to_string()),
            id: session.id,
            browser: browser::name(&session.agent),
        }
    }
}

impl Key {
    fn of(user: &User, groups: &Groups, key: ProgramKey) -> Self {
        let unreachable = user.unreachable_with_key(key.toolkits.as_ref(), groups);
        let unreachable: Vec<_> = unreachable.into_iter().map(|it| it.toolkit).collect();
        let minute = |time: Timestamp| text::minute(&time.to_string());
        Self {
            pauses: key.pauses_at.map(minute),
            scope: match key.toolkits {
                Some(toolkits) => format!("calls {}", toolkits.into_iter().collect::<Vec<_>>().join(", ")),
                None => "does what you may".to_owned(),
            },
            unreachable: unreachable.join(", "),
            ends: key.expires_at.map_or_else(|| "never".to_owned(), minute),
            last_used: key.used_at.map_or_else(|| "never".to_owned(), minute),
            id: key.id,
            name: key.name,
            made_by: key.made_by,
        }
    }
}

impl From<GrantedClient> for Program {
    fn from(client: GrantedClient) -> Self {
        Self {
            sign_ins: text::count(client.grants, "sign-in"),
            ends: text::minute(&client.expires_at.to_string()),
            id: client.id,
            name: client.name,
        }
    }
}

/// `POST /ui/account/sessions/{id}/end`: ends a session of the user.
pub(super) async fn end(
    By(user): By<User>,
    State(sessions): State<Sessions>,
    Extension(current): Extension<BrowserSession>,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let own = sessions.stored.of_user(user.id()).await.map_err(|cause| WebError::storage(&cause))?;
    // An expired session, or one of another user, is ignored.
    if let Some(session) = own.iter().find(|session| session.id == id) {
        sessions.end(session).await?;
    }
    if id == current.id { Ok(signed_out(&sessions)) } else { Ok(Done::SessionEnded.page().into_response()) }
}

/// `POST /ui/account/sessions/end`: ends all sessions of the user.
pub(super) async fn end_all(
    By(user): By<User>,
    State(sessions): State<Sessions>,
    Extension(_own): Extension<BrowserSession>,
) -> Result<Response, WebError> {
    sessions.end_all(user.id()).await?;
    Ok(signed_out(&sessions))
}

/// `POST /ui/account/clients/{id}/revoke`: revokes the user's grants to a program, in local mode.
pub(super) async fn revoke(
    By(user): By<User>,
    State(sessions): State<Sessions>,
    Path(id): Path<String>,
) -> Result<Response, WebError> {
    let SignInMode::Local(server) = &sessions.mode else { return Err(WebError::nothing_here()) };
    server.revoke_client(user.id(), &id).await.map_err(|cause| WebError::storage(&cause))?;
    Ok(Done::ClientRevoked.page().into_response())
}

/// `POST /ui/account/keys/{id}/revoke`: revokes a key of the user.
pub(super) async fn revoke_key(
    By(user): By<User>,
    State(sessions): State<Sessions>,
    Path(id): Path<String>,
) -> Result<Redirect, WebError> {
    let Some(keys) = &sessions.keys else { return Err(WebError::nothing_here()) };
    keys.revoke(&user.actor(), &id).await.map_err(|cause| WebError::storage(&cause))?;
    Ok(Done::KeyRevoked.page())
}
