//! Entry points for `fuzz/`.

use axum::http::HeaderValue;

/// The `Content-Disposition` under which a document's file is given to its owner.
pub fn disposition(title: &str, media_type: &str) -> HeaderValue {
    super::disposition(&super::file_name(title, media_type))
}
