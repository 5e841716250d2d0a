//! For whom toolkits are, over HTTP. For operators.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use kitbag_access::Operator;
use kitbag_access::values::toolkits::audience::{Grant, Subject};
use kitbag_base::json_object::JsonObject;
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::error::WebError;
use crate::authenticate::By;

/// Bytes of a list of grants: as many as there may be, of the longest names.
const MAX_GRANTS_BYTES: usize = 256 << 10;

/// Grants of a toolkit.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grants {
    grants: Vec<Grant>,
}

/// From whom to take grants: of one tool, or of all.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unshared {
    user: Option<String>,
    group: Option<String>,
    #[serde(default)]
    everyone: bool,
    tool: Option<String>,
}

/// `GET /toolkits/{id}/audience`: `{"grants": [{"group": "sales", "tool": "forecast", "perMinute": 60}, …]}`. Without grants
/// a shared toolkit is for everyone, and a private one for its owner.
pub(super) async fn show(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<Json<Grants>, WebError> {
    Ok(Json(Grants { grants: operator.audience(&id)?.grants().to_vec() }))
}

/// `POST /toolkits/{id}/audience`: adds grants, a body as above, and replaces the limits of those that are there. Answers with
/// all.
pub(super) async fn share(
    By(operator): By<Operator>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<Grants>, WebError> {
    let body = read_small(body, MAX_GRANTS_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_GRANTS_BYTES))?;
    let JsonObject::<Grants>(Grants { grants }) = serde_json::from_slice(&body)
        .map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    operator.share(&id, grants).await?;
    show(By(operator), Path(id)).await
}

/// `DELETE /toolkits/{id}/audience?group=sales&tool=forecast`, or with `user=…` or `everyone=true`; without `tool` all grants
/// to that subject.
pub(super) async fn unshare(
    By(operator): By<Operator>,
    Path(id): Path<String>,
    Query(Unshared { user, group, everyone, tool }): Query<Unshared>,
) -> Result<StatusCode, WebError> {
    let subject = Subject::named(user, group, everyone)
        .map_err(|invalid| WebError::new(StatusCode::BAD_REQUEST, invalid.to_string()))?;
    operator.unshare(&id, subject, tool).await?;
    Ok(StatusCode::NO_CONTENT)
}
