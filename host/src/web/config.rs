//! Settings of the calling user for one toolkit.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get};
use axum::{Extension, Json};
use kitbag_manifest::{ConfigField, config};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Shared;
use super::error::WebError;
use super::toolkits::visible_to;
use crate::identity::Caller;

/// Bytes of a change.
pub(super) const LARGEST: usize = 64 << 10;

/// One declared field, and what it comes to for the caller.
#[derive(Serialize)]
pub(super) struct Field {
    pub(super) definition: ConfigField,
    /// What the user set; `null` where that is nothing.
    pub(super) value: Option<Value>,
    /// What a call gets; `null` where that is nothing.
    pub(super) effective: Option<Value>,
    /// Whether the user must fill it in and has not.
    pub(super) missing: bool,
}

/// `/toolkits/{id}/config`
pub(super) fn routes() -> MethodRouter<Shared> {
    get(show).patch(change).layer(DefaultBodyLimit::max(LARGEST))
}

/// `GET`: every declared field with the caller's value.
async fn show(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<BTreeMap<String, Field>>, WebError> {
    Ok(Json(fields(&shared, &caller, &id).await?))
}

/// `PATCH`: a JSON object of values by key; `null` unsets. Answers as `GET` does.
async fn change(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<BTreeMap<String, Field>>, WebError> {
    visible_to(&shared, &caller, &id)?;
    let body = body.map_err(|rejection| WebError::new(rejection.status(), rejection.body_text()))?;
    // The parser's own message could quote what was sent.
    let changes: Map<String, Value> = serde_json::from_slice(&body).map_err(|_| {
        WebError::new(StatusCode::BAD_REQUEST, "The body must be a JSON object of settings by key.")
    })?;
    change_values(&shared, &caller, &id, &changes).await?;
    Ok(Json(fields(&shared, &caller, &id).await?))
}

/// Sets and unsets values of the caller.
pub(super) async fn change_values(
    shared: &Shared,
    caller: &Caller,
    id: &str,
    changes: &Map<String, Value>,
) -> Result<(), WebError> {
    let toolkit = visible_to(shared, caller, id)?;
    shared.disk.room_for_a_little()?;
    Ok(shared.user_config.change(&caller.user_id, id, &toolkit.definition.config, changes).await?)
}

/// Every declared field with the caller's value.
pub(super) async fn fields(
    shared: &Shared,
    caller: &Caller,
    id: &str,
) -> Result<BTreeMap<String, Field>, WebError> {
    let toolkit = visible_to(shared, caller, id)?;
    let declared = &toolkit.definition.config;
    let mut values = shared.user_config.values(&caller.user_id, id).await?;
    let mut effective = config::effective(declared, &values);
    let fields = declared.iter().map(|(key, definition)| {
        let effective = effective.remove(key);
        let missing = definition.required && effective.is_none();
        let definition = definition.clone();
        (key.clone(), Field { definition, value: values.remove(key), effective, missing })
    });
    Ok(fields.collect())
}
