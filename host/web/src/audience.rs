//! HTTP API for the audience of toolkits (grants). Operators only.

use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use kitbag_access::Operator;
use kitbag_access::values::identity::Subject;
use kitbag_access::values::toolkits::audience::Grant;
use kitbag_base::json_object::JsonObject;
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of a list of grants: the maximum number of grants with names of maximum length.
const MAX_GRANTS_BYTES: usize = 256 << 10;

/// Grants of a toolkit.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grants {
    grants: Vec<Grant>,
}

/// Subject whose grants are removed: for one tool, or for all tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unshared {
    user: Option<String>,
    group: Option<String>,
    #[serde(default)]
    everyone: bool,
    tool: Option<String>,
}

/// `GET /toolkits/{id}/audience`: `{"grants": [{"group": "sales", "tool": "forecast", "perMinute": 60}, …]}`.
/// Without grants, everyone may use a shared toolkit, and only its owner a private one.
pub(super) async fn show(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<Json<Grants>, WebError> {
    Ok(Json(Grants { grants: operator.audiences().of(&id)?.grants().to_vec() }))
}

/// `POST /toolkits/{id}/audience`: adds grants (body as above), replacing the limits of existing ones.
/// Responds with all grants.
pub(super) async fn share(
    By(operator): By<Operator>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<Grants>, WebError> {
    let body = read_small(body, MAX_GRANTS_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_GRANTS_BYTES))?;
    let JsonObject::<Grants>(Grants { grants }) = serde_json::from_slice(&body)
        .map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    operator.audiences().share(&id, grants).await?;
    show(By(operator), Path(id)).await
}

/// `DELETE /toolkits/{id}/audience?group=sales&tool=forecast`, or with `user=…` or `everyone=true`. Without
/// `tool`, removes all grants of that subject.
pub(super) async fn unshare(
    By(operator): By<Operator>,
    Path(id): Path<String>,
    Query(Unshared { user, group, everyone, tool }): Query<Unshared>,
) -> Result<StatusCode, WebError> {
    let subject = Subject::named(user, group, everyone)
        .map_err(|invalid| WebError::new(StatusCode::BAD_REQUEST, invalid.to_string()))?;
    operator.audiences().unshare(&id, subject, tool).await?;
    Ok(StatusCode::NO_CONTENT)
}
