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
const LARGEST: usize = 64 << 10;

/// One declared field, and what it comes to for the caller.
#[derive(Serialize)]
struct Field {
    definition: ConfigField,
    /// What the user set; `null` where that is nothing.
    value: Option<Value>,
    /// What a call gets; `null` where that is nothing.
    effective: Option<Value>,
    /// Whether the user must fill it in and has not.
    missing: bool,
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
    let toolkit = visible_to(&shared, &caller, &id)?;
    fields(&shared, &caller, &id, &toolkit.definition.config).await
}

/// `PATCH`: a JSON object of values by key; `null` unsets. Answers as `GET` does.
async fn change(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<BTreeMap<String, Field>>, WebError> {
    let toolkit = visible_to(&shared, &caller, &id)?;
    let declared = &toolkit.definition.config;
    let body = body.map_err(|rejection| WebError::new(rejection.status(), rejection.body_text()))?;
    // The parser's own message could quote what was sent.
    let changes: Map<String, Value> = serde_json::from_slice(&body).map_err(|_| {
        WebError::new(StatusCode::BAD_REQUEST, "The body must be a JSON object of settings by key.")
    })?;
    shared.user_config.change(&caller.user_id, &id, declared, &changes).await?;
    fields(&shared, &caller, &id, declared).await
}

async fn fields(
    shared: &Shared,
    caller: &Caller,
    id: &str,
    declared: &BTreeMap<String, ConfigField>,
) -> Result<Json<BTreeMap<String, Field>>, WebError> {
    let mut values = shared.user_config.values(&caller.user_id, id).await?;
    let mut effective = config::effective(declared, &values);
    let fields = declared.iter().map(|(key, definition)| {
        let effective = effective.remove(key);
        let missing = definition.required && effective.is_none();
        let definition = definition.clone();
        (key.clone(), Field { definition, value: values.remove(key), effective, missing })
    });
    Ok(Json(fields.collect()))
}
