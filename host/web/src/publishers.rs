//! HTTP API for publishers, whose signatures the server verifies. Operators only.

use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use kitbag_access::Operator;
use kitbag_access::values::toolkits::Publisher;
use kitbag_base::json_object::JsonObject;
use kitbag_base::signatures::PublicKey;
use serde::Deserialize;

use super::body::read_small;
use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of the body that adds a publisher.
const MAX_BODY_BYTES: usize = 16 << 10;

/// Body of a request to add a publisher.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
    key: String,
}

/// `GET /publishers`: sorted by name, each with the fingerprint of its key.
pub(super) async fn list(By(operator): By<Operator>) -> Result<Json<Vec<Publisher>>, WebError> {
    Ok(Json(operator.publishers().all().await?))
}

/// `POST /publishers`: body `{"name": …, "key": …}`; the key is an ECDSA P-256 public key in PEM.
pub(super) async fn add(
    By(operator): By<Operator>,
    body: Body,
) -> Result<(StatusCode, Json<Publisher>), WebError> {
    let body = read_small(body, MAX_BODY_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_BODY_BYTES))?;
    let JsonObject::<Wanted>(Wanted { name, key }) = serde_json::from_slice(&body)
        .map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    let key = PublicKey::from_pem(&key).map_err(|error| {
        WebError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("The key cannot be used: {error}."))
    })?;
    Ok((StatusCode::CREATED, Json(operator.publishers().add(&name, &key).await?)))
}

/// `DELETE /publishers/{name}`
pub(super) async fn remove(
    By(operator): By<Operator>,
    Path(name): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.publishers().remove(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
