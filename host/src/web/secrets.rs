//! A user's own secrets over HTTP: set, removed, listed. No route ever returns a value.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use secrecy::SecretString;
use serde::Serialize;

use super::Shared;
use super::error::WebError;
use super::toolkits::{require_operator, visible_to};
use crate::identity::Caller;
use crate::redaction;
use crate::vault::{Rotated, SecretStatus};

/// What became of a value.
#[derive(Serialize)]
pub(super) struct Stored {
    name: String,
    /// Whether the value is removed from all that leaves the sandbox: one that is too short is not.
    redacted: bool,
}

/// `GET /toolkits/{id}/secrets`: each declared name, and whether the caller has set it.
pub(super) async fn list(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Vec<SecretStatus>>, WebError> {
    let toolkit = visible_to(&shared, &caller, &id)?;
    Ok(Json(shared.vault.list(&caller.user_id, &id, &toolkit.definition.secrets).await?))
}

/// `PUT /toolkits/{id}/secrets/{name}`: the value as the body, as it is.
pub(super) async fn set(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((id, name)): Path<(String, String)>,
    body: Bytes,
) -> Result<Json<Stored>, WebError> {
    require_declared(&shared, &caller, &id, &name)?;
    let text = std::str::from_utf8(&body)
        .map_err(|_| WebError::new(StatusCode::UNPROCESSABLE_ENTITY, "The value must be UTF-8."))?;
    let value = SecretString::from(text);
    shared.vault.set(&caller.user_id, &id, &name, &value).await?;
    Ok(Json(Stored { name, redacted: text.len() >= redaction::SHORTEST }))
}

/// `DELETE /toolkits/{id}/secrets/{name}`
pub(super) async fn unset(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((id, name)): Path<(String, String)>,
) -> Result<StatusCode, WebError> {
    require_declared(&shared, &caller, &id, &name)?;
    shared.vault.unset(&caller.user_id, &id, &name).await?;
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
