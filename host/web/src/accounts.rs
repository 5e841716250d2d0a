//! HTTP API of a user's connected account for a toolkit: show and disconnect. Connecting needs a browser
//! page.

use axum::extract::Path;
use axum::http::StatusCode;
use kitbag_access::{AccessError, AccountStatus, User};

use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// `GET /toolkits/{id}/account`
pub(super) async fn show(
    By(user): By<User>,
    Path(id): Path<String>,
) -> Result<Json<AccountStatus>, WebError> {
    let account = user.toolkit(&id)?.account().await?;
    Ok(Json(account.ok_or(AccessError::NoAccountDeclared(id))?))
}

/// `DELETE /toolkits/{id}/account`
pub(super) async fn end(By(user): By<User>, Path(id): Path<String>) -> Result<StatusCode, WebError> {
    if !user.stored_for(&id).end_account().await? {
        // No account was connected: fails if the toolkit does not exist.
        user.toolkit(&id)?;
    }
    Ok(StatusCode::NO_CONTENT)
}
