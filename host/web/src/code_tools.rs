//! HTTP API for the tools with side effects that the caller's code may call (code mode).

use axum::extract::Path;
use axum::http::StatusCode;
use kitbag_access::User;

use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// `GET /toolkits/{id}/code-tools`: names of the allowed tools.
pub(super) async fn list(By(user): By<User>, Path(id): Path<String>) -> Result<Json<Vec<String>>, WebError> {
    Ok(Json(user.toolkit(&id)?.code_tools().await?))
}

/// `POST /toolkits/{id}/code-tools/{tool}`
pub(super) async fn allow(
    By(user): By<User>,
    Path((id, tool)): Path<(String, String)>,
) -> Result<StatusCode, WebError> {
    user.allow_in_code(&id, &tool).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /toolkits/{id}/code-tools/{tool}`
pub(super) async fn disallow(
    By(user): By<User>,
    Path((id, tool)): Path<(String, String)>,
) -> Result<StatusCode, WebError> {
    user.stored_for(&id).disallow_in_code(&tool).await?;
    Ok(StatusCode::NO_CONTENT)
}
