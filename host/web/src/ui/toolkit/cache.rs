//! Button that clears the data that a toolkit caches for the user.

use axum::extract::Path;
use axum::response::Redirect;
use kitbag_access::User;

use super::{Done, back_to};
use crate::authenticate::By;
use crate::error::WebError;

/// `POST /ui/toolkits/{id}/cache/clear`
pub(in crate::ui) async fn clear(By(user): By<User>, Path(id): Path<String>) -> Result<Redirect, WebError> {
    user.stored_for(&id).clear_cache().await?;
    Ok(if user.toolkit(&id).is_ok() { back_to(&id, Done::CacheCleared) } else { Redirect::to("/ui/") })
}
