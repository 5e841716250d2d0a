//! Downloads a file from the public internet.
//!
//! Invariant: each request passes the network policy of captures and goes to a port that serves files, none
//! leads from https to http, and the file is bounded in size and time.

use std::path::Path;

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName};
use http_body_util::BodyExt;
use kitbag_net::egress::{Egress, Policy};
use percent_encoding::percent_decode_str;
use tokio::time::timeout;
use url::Url;

use super::CaptureSettings;
use super::failure::{self, CaptureFailure};
use super::incoming::{self, Incoming};

/// Downloaded file.
pub(super) struct Fetched {
    pub(super) file: Incoming,
    /// Media type that the server declared.
    pub(super) media_type: Option<String>,
    /// Last segment of the URL's path.
    pub(super) name: String,
}

/// Downloads a file to `folder` under the policy of a capture, following redirects.
pub(super) async fn fetch(
    egress: &Egress,
    url: &str,
    policy: &Policy,
    folder: &Path,
    settings: &CaptureSettings,
) -> Result<Fetched, CaptureFailure> {
    let url = Url::parse(url)
        .map_err(|error| failure::permanent(format!("the address of the file is no URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        let reason = format!("only http and https files can be captured, not {}:", url.scheme());
        return Err(failure::permanent(reason));
    }
    let fetching = timeout(settings.time, receive(egress, &url, policy, folder, settings.size));
    fetching.await.unwrap_or_else(|_| Err(failure::too_slow(settings.time)))
}

async fn receive(
    egress: &Egress,
    url: &Url,
    policy: &Policy,
    folder: &Path,
    limit: u64,
) -> Result<Fetched, CaptureFailure> {
    let response = egress.get_file(url, policy).await;
    let (head, body) = response.map_err(|error| failure::of_request(&error))?.into_parts();
    if !head.status.is_success() {
        let reason = format!("the server of the file answered {}", head.status);
        return Err(failure::of_status(head.status.as_u16(), reason));
    }
    let header = |name| header(&head.headers, name);
    // Content encodings are refused: decompression would admit decompression bombs.
    if let Some(encoding) = header(CONTENT_ENCODING).filter(|it| !it.is_empty() && it != "identity") {
        let encoding: String = encoding.chars().take(40).collect();
        let reason = format!("the server compressed the file ({encoding}) although it was asked not to");
        return Err(failure::permanent(reason));
    }
    let length = header(CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(failure::too_large(limit));
    }
    // The HTTP client's message is not meant for users.
    let pieces = futures::TryStreamExt::map_err(body.into_data_stream(), |_| "the connection broke");
    let file = incoming::receive(folder, pieces, limit).await?;
    Ok(Fetched { file, media_type: header(CONTENT_TYPE), name: name(url) })
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_ascii_lowercase())
}

fn name(url: &Url) -> String {
    let last = url.path_segments().and_then(Iterator::last).unwrap_or_default();
    percent_decode_str(last).decode_utf8_lossy().into_owned()
}
