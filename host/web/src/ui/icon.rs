//! Icons of toolkits, and the pictures that were fetched at their deploy.

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::User;
use kitbag_access::values::toolkits::Live;

use crate::authenticate::By;
use crate::error::WebError;

/// Icon of a toolkit.
pub(super) enum Icon {
    /// An emoji, or the first letter of the toolkit's name.
    Text(String),
    /// Path of a picture.
    Picture(String),
}

impl Icon {
    pub(super) fn of(toolkit: &Live) -> Self {
        let icon = &toolkit.definition.icon;
        match &toolkit.picture {
            Some(digest) => Self::Picture(format!("/ui/icons/{digest}")),
            None if !icon.is_empty() && !icon.starts_with("https:") => Self::Text(icon.clone()),
            None => {
                Self::Text(toolkit.definition.name.chars().next().unwrap_or('?').to_uppercase().collect())
            }
        }
    }
}

/// `GET /ui/icons/{digest}`: icon of a toolkit that the user may list. Its headers prevent scripts when it is
/// opened directly.
pub(super) async fn serve(By(user): By<User>, Path(digest): Path<String>) -> Result<Response, WebError> {
    let picture = user.listed().picture(&digest).await?;
    let media_type = HeaderValue::from_str(&picture.media_type).map_err(|_| WebError::nothing_here())?;
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=31536000, immutable")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
    ];
    Ok((headers, picture.content).into_response())
}
