//! Settings of the calling user for one toolkit.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use kitbag_access::{Setting, User, VisibleToolkit};
use kitbag_manifest::ConfigField;
use serde::Serialize;
use serde_json::{Map, Value};

use super::body::read_small;
use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of a `PATCH` body.
const MAX_CHANGE_BYTES: usize = 64 << 10;

/// A declared field with the caller's value.
#[derive(Serialize)]
pub(super) struct Field {
    definition: ConfigField,
    /// Value that the user set; `null` if unset.
    value: Option<Value>,
    /// Value that a call gets; `null` if there is none.
    effective: Option<Value>,
    /// Whether the field is required and unset.
    missing: bool,
}

/// `GET /toolkits/{id}/config`: every declared field with the caller's value.
pub(super) async fn show(
    By(user): By<User>,
    Path(id): Path<String>,
) -> Result<Json<BTreeMap<String, Field>>, WebError> {
    fields(&user.toolkit(&id)?).await
}

/// `PATCH /toolkits/{id}/config`: a JSON object of values by key; `null` unsets. Responds as `GET` does.
pub(super) async fn change(
    By(user): By<User>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<BTreeMap<String, Field>>, WebError> {
    let toolkit = user.toolkit(&id)?;
    let body =
        read_small(body, MAX_CHANGE_BYTES).await.map_err(|why| WebError::unread(why, MAX_CHANGE_BYTES))?;
    // The parser's own message could quote the values sent.
    let changes: Map<String, Value> = serde_json::from_slice(&body).map_err(|_| {
        WebError::new(StatusCode::BAD_REQUEST, "The body must be a JSON object of settings by key.")
    })?;
    toolkit.change_settings(&changes).await?;
    fields(&toolkit).await
}

async fn fields(toolkit: &VisibleToolkit) -> Result<Json<BTreeMap<String, Field>>, WebError> {
    let fields = toolkit.settings().await?.into_iter().map(|(key, setting)| {
        let Setting { definition, value, effective, missing } = setting;
        (key, Field { definition, value, effective, missing })
    });
    Ok(Json(fields.collect()))
}
