//! A user's own secrets over HTTP: set, removed, listed. No route ever returns a value.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::routing::{MethodRouter, put};
use axum::{Extension, Json};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::Shared;
use super::error::WebError;
use super::toolkits::{require_operator, visible_to};
use crate::identity::Caller;
use crate::redaction;
use crate::toolkits::ToolkitError;
use crate::vault::{LONGEST, Rotated, SecretStatus};

/// What became of a value.
#[derive(Serialize)]
pub(super) struct Stored {
    pub(super) name: String,
    /// Whether the value is removed from all that leaves the sandbox: one that is too short is not.
    pub(super) redacted: bool,
}

/// `/toolkits/{id}/secrets/{name}`
pub(super) fn routes_of_one() -> MethodRouter<Shared> {
    put(set).delete(unset).layer(DefaultBodyLimit::max(LONGEST))
}

/// `GET /toolkits/{id}/secrets`
pub(super) async fn list(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Vec<SecretStatus>>, WebError> {
    Ok(Json(names(&shared, &caller, &id).await?))
}

/// `PUT`: the value as the body, as it is.
async fn set(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((id, name)): Path<(String, String)>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Stored>, WebError> {
    require_declared(&shared, &caller, &id, &name)?;
    let body = body.map_err(|rejection| match rejection.status() {
        status @ StatusCode::PAYLOAD_TOO_LARGE => {
            WebError::new(status, format!("The value is longer than {LONGEST} bytes."))
        }
        status => WebError::new(status, rejection.body_text()),
    })?;
    let text = std::str::from_utf8(&body)
        .map_err(|_| WebError::new(StatusCode::UNPROCESSABLE_ENTITY, "The value must be UTF-8."))?;
    Ok(Json(set_value(&shared, &caller, &id, name, &SecretString::from(text)).await?))
}

/// `DELETE`
async fn unset(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((id, name)): Path<(String, String)>,
) -> Result<StatusCode, WebError> {
    unset_value(&shared, &caller, &id, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /vault/rotate`: a new master key for every record.
pub(super) async fn rotate(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Rotated>, WebError> {
    require_operator(&shared, &caller)?;
    Ok(Json(shared.vault.rotate().await?))
}

/// Each declared name, and whether the caller has set it; then what the caller has set that is not
/// declared any more. Own values can be seen although the toolkit cannot.
pub(super) async fn names(shared: &Shared, caller: &Caller, id: &str) -> Result<Vec<SecretStatus>, WebError> {
    let toolkit = visible_to(shared, caller, id).ok();
    let declared = toolkit.as_ref().map_or(&[][..], |toolkit| &toolkit.definition.secrets);
    let list = shared.vault.list(&caller.user_id, id, declared).await?;
    if toolkit.is_none() && list.is_empty() {
        return Err(ToolkitError::Unknown(id.to_owned()).into());
    }
    Ok(list)
}

/// Sets a value of the caller for a declared name.
pub(super) async fn set_value(
    shared: &Shared,
    caller: &Caller,
    id: &str,
    name: String,
    value: &SecretString,
) -> Result<Stored, WebError> {
    require_declared(shared, caller, id, &name)?;
    shared.disk.room_for_a_little()?;
    shared.vault.set(&caller.user_id, id, &name, value).await?;
    Ok(Stored { name, redacted: redaction::is_findable(value.expose_secret()) })
}

/// Removes a value of the caller: whatever is set can be removed, although the toolkit is hidden by now
/// or does not declare the name any more.
pub(super) async fn unset_value(
    shared: &Shared,
    caller: &Caller,
    id: &str,
    name: &str,
) -> Result<(), WebError> {
    if !shared.vault.unset(&caller.user_id, id, name).await? {
        require_declared(shared, caller, id, name)?;
    }
    Ok(())
}

/// The names are few and known: a misspelled one must not swallow a credential.
fn require_declared(shared: &Shared, caller: &Caller, id: &str, name: &str) -> Result<(), WebError> {
    let toolkit = visible_to(shared, caller, id)?;
    let declared = &toolkit.definition.secrets;
    if declared.iter().any(|declared| declared == name) {
        return Ok(());
    }
    let known = if declared.is_empty() { "no secrets".to_owned() } else { declared.join(", ") };
    let detail = format!("{id} declares no secret {name:?}; it declares {known}.");
    Err(WebError::new(StatusCode::NOT_FOUND, detail))
}
