//! Static files (stylesheet, icon, scripts), under names with their hash, so that browsers can cache them for
//! good.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use kitbag_base::sha256::Sha256;

use crate::error::WebError;

/// A static file that is part of the binary.
pub(super) struct Asset {
    /// Path below the base URL.
    pub(super) path: String,
    media_type: &'static str,
    content: &'static str,
}

pub(super) static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("css", "text/css; charset=utf-8", include_str!("assets/kitbag.css")));
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("svg", "image/svg+xml", include_str!("assets/icon.svg")));
pub(super) static COPY: LazyLock<Asset> = LazyLock::new(|| Asset::script(include_str!("assets/copy.js")));
/// Script that streams a log.
pub(super) static LOG: LazyLock<Asset> = LazyLock::new(|| Asset::script(include_str!("assets/log.js")));
/// Script that shows a running call, and cancels it.
pub(super) static TRY: LazyLock<Asset> = LazyLock::new(|| Asset::script(include_str!("assets/try.js")));
/// Script that shows the progress of an upload.
pub(super) static UPLOAD: LazyLock<Asset> = LazyLock::new(|| Asset::script(include_str!("assets/upload.js")));

const PREFIX: &str = "/ui/assets/";

impl Asset {
    fn new(extension: &str, media_type: &'static str, content: &'static str) -> Self {
        let hash = hex::encode(&Sha256::digest(content)[..8]);
        Self { path: format!("{PREFIX}{hash}.{extension}"), media_type, content }
    }

    fn script(content: &'static str) -> Self {
        Self::new("js", "text/javascript; charset=utf-8", content)
    }
}

/// `GET /ui/assets/{file}`
pub(super) async fn serve(Path(file): Path<String>) -> Result<Response, WebError> {
    let all = [&*STYLE, &*ICON, &*COPY, &*LOG, &*TRY, &*UPLOAD];
    let asset = all.into_iter().find(|asset| asset.path.strip_prefix(PREFIX) == Some(&file));
    let Asset { media_type, content, .. } = asset.ok_or_else(WebError::nothing_here)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    Ok((headers, *content).into_response())
}
