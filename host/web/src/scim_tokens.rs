//! HTTP API for tokens of identity providers that provision users (SCIM). Operators only.

use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kitbag_access::Operator;
use kitbag_base::json_object::JsonObject;
use kitbag_identity::ProvisioningToken;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::error::WebError;
use super::pages::NOT_STORED;
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of the body that creates a token.
const MAX_BODY_BYTES: usize = 4 << 10;

/// Body of a request to create a token.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
}

/// A token, without the secret. Times are RFC 3339, UTC.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    id: String,
    name: String,
    created_by: String,
    created_at: String,
    used_at: Option<String>,
}

/// A new token, with the secret.
#[derive(Serialize)]
struct Made {
    token: String,
    #[serde(flatten)]
    listed: Listed,
}

/// `GET /scim-tokens`: sorted by name.
pub(super) async fn list(By(operator): By<Operator>) -> Result<Json<Vec<Listed>>, WebError> {
    let tokens = operator.scim_tokens().all().await?;
    Ok(Json(tokens.into_iter().map(Listed::from).collect()))
}

/// `POST /scim-tokens`: body `{"name": …}`. The token is in this response only.
pub(super) async fn create(By(operator): By<Operator>, body: Body) -> Result<Response, WebError> {
    let body = read_small(body, MAX_BODY_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_BODY_BYTES))?;
    let JsonObject::<Wanted>(Wanted { name }) = serde_json::from_slice(&body)
        .map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    let (token, made) = operator.scim_tokens().create(&name).await?;
    let made = Made { token: token.expose_secret().to_owned(), listed: made.into() };
    Ok((StatusCode::CREATED, NOT_STORED, Json(made)).into_response())
}

/// `DELETE /scim-tokens/{id}`
pub(super) async fn revoke(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.scim_tokens().revoke(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<ProvisioningToken> for Listed {
    fn from(token: ProvisioningToken) -> Self {
        let ProvisioningToken { id, name, created_by, created_at, used_at } = token;
        let [created_at, used_at] = [Some(created_at), used_at].map(|time| time.map(|time| time.to_string()));
        Self { id, name, created_by, created_at: created_at.unwrap_or_default(), used_at }
    }
}
