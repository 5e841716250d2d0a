//! A user's connected account for a toolkit over HTTP: shown and ended. It is connected on a page, in a browser.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use kitbag_access::{AccessError, AccountStatus, User};

use super::error::WebError;
use crate::authenticate::By;

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
    if !user.end_account(&id).await? {
        // Nothing was ended: fails if there is no such toolkit.
        user.toolkit(&id)?;
    }
    Ok(StatusCode::NO_CONTENT)
}
