//! The button that removes what a toolkit keeps for the user.

use axum::extract::Path;
use axum::response::Redirect;

use super::{Done, back_to};
use crate::access::User;
use crate::web::error::WebError;

/// `POST /ui/toolkits/{id}/cache/clear`
pub(in crate::web::ui) async fn clear(user: User, Path(id): Path<String>) -> Result<Redirect, WebError> {
    user.clear_cache(&id).await?;
    Ok(if user.toolkit(&id).is_ok() { back_to(&id, Done::CacheCleared) } else { Redirect::to("/ui/") })
}
