//! Entry points for `fuzz/`.

use axum::http::HeaderValue;

/// `Content-Disposition` of a download of a document's file.
pub fn disposition(title: &str, media_type: &str) -> HeaderValue {
    super::disposition(&super::file_name(title, media_type))
}
