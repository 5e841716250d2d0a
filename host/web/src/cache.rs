//! HTTP API for the data that a toolkit caches for the caller between calls.

use axum::extract::Path;
use kitbag_access::User;
use kitbag_access::values::user_cache::CacheUsage;

use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// `DELETE /toolkits/{id}/cache`: clears it. Returns the usage before.
pub(super) async fn clear(By(user): By<User>, Path(id): Path<String>) -> Result<Json<CacheUsage>, WebError> {
    Ok(Json(user.stored_for(&id).clear_cache().await?))
}
