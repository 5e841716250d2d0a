//! Pictures of toolkits whose icon is a URL: fetched once, when a version is deployed, and served by this
//! server, so that pages do not make browsers contact a server that the author has chosen.
//!
//! Invariants:
//! - a picture is a raster image according to its own bytes, whatever its sender claims, and small in bytes
//!   and pixels;
//! - a picture that cannot be fetched is omitted, and the deploy continues;
//! - the request may go only where a user's capture may go.

pub(super) mod fuzzing;

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use imagesize::ImageType;
use kitbag_base::sha256::Sha256;
use kitbag_net::egress::{Egress, Policy};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{info, warn};
use url::Url;

const MAX_BYTES: usize = 64 << 10;
/// First bytes of a PNG file (PNG specification, section 5.2): the crate that reads sizes checks only four of
/// them.
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Maximum width and height in pixels: a few bytes may unpack to a picture that fills a reader's memory.
const MAX_SIDE: usize = 1024;
/// Maximum time from the start of the request to the end of the picture; the deploy waits for it.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// A fetched picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Media type of the content.
    pub media_type: String,
    /// Contents of the image file.
    pub content: Bytes,
}

impl Picture {
    /// Returns the SHA-256 of the content, hexadecimal.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(&self.content))
    }

    /// Determines the media type and the size from the first bytes.
    fn of(content: Bytes) -> Result<Self, &'static str> {
        let media_type = match imagesize::image_type(&content) {
            Ok(ImageType::Png) if content.starts_with(PNG_SIGNATURE) => "image/png",
            Ok(ImageType::Jpeg) => "image/jpeg",
            Ok(ImageType::Gif) => "image/gif",
            Ok(ImageType::Webp) => "image/webp",
            _ => return Err("it is no PNG, JPEG, GIF or WebP"),
        };
        let size = imagesize::blob_size(&content).map_err(|_| "its size cannot be read")?;
        if size.width.max(size.height) > MAX_SIDE {
            return Err("it is more than 1024 pixels wide or high");
        }
        Ok(Self { media_type: media_type.to_owned(), content })
    }
}

/// Fetches the picture of a toolkit on behalf of `by`, who deploys it. `None` if its icon is not a URL, or if
/// there is no usable picture.
pub(super) async fn fetch(egress: &Egress, toolkit: &str, icon: &str, by: &str) -> Option<Picture> {
    let url = Url::parse(icon).ok()?;
    let policy = Policy::Capture { user: by.into() };
    let fetched = timeout(FETCH_TIMEOUT, download(egress, &url, &policy)).await;
    match fetched.unwrap_or_else(|_| Err(format!("it takes more than {} s", FETCH_TIMEOUT.as_secs()))) {
        Ok(picture) => {
            info!(toolkit.id = %toolkit, bytes = picture.content.len(), "fetched icon");
            Some(picture)
        }
        Err(reason) => {
            warn!(toolkit.id = %toolkit, %url, %reason, "the icon is left out");
            None
        }
    }
}

async fn download(egress: &Egress, url: &Url, policy: &Policy) -> Result<Picture, String> {
    let response = egress.get_file(url, policy).await.map_err(|error| error.to_string())?;
    if !response.status().is_success() {
        return Err(format!("the answer is {}", response.status()));
    }
    let body = Limited::new(response.into_body(), MAX_BYTES).collect().await;
    let content = body.map_err(|_| format!("it broke off, or is larger than {MAX_BYTES} bytes"))?.to_bytes();
    // In a separate task: if the parser panics, the picture is missing, but the deploy continues.
    let read = spawn_blocking(move || Picture::of(content)).await;
    read.unwrap_or(Err("it cannot be read")).map_err(str::to_owned)
}

#[cfg(test)]
mod tests {
    use http::{Response, header};
    use http_body_util::Full;
    use kitbag_net::egress::EgressSettings;
    use kitbag_net::egress::test_server::TestServer;

    use super::*;

    /// Builds the header of a PNG file of this size.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        file.extend(width.to_be_bytes());
        file.extend(height.to_be_bytes());
        file.extend(b"\x08\x06\0\0\0");
        file
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        [b"GIF89a".to_vec(), width.to_le_bytes().to_vec(), height.to_le_bytes().to_vec(), vec![0; 8]].concat()
    }

    /// Serves files by their path; `/moved` redirects to `/icon.png`.
    async fn server() -> TestServer {
        TestServer::start(|request| {
            let content = match request.uri.path() {
                "/icon.png" => png(64, 64),
                "/icon.gif" => gif(32, 16),
                "/wide.png" => png(1025, 1),
                "/high.gif" => gif(1, 1025),
                "/long.png" => [png(64, 64), vec![0; MAX_BYTES]].concat(),
                "/icon.svg" => b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script/></svg>".to_vec(),
                "/page" => b"<!doctype html>\x89PNG".to_vec(),
                "/cut.png" => b"\x89PNG\r\n\x1a\n".to_vec(),
                "/damaged.png" => b"\x89PNG\r\n\"\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x40\x08\x06\0\0\0".to_vec(),
                "/moved" => {
                    let moved = Response::builder().status(302).header(header::LOCATION, "/icon.png");
                    return moved.body(Full::default()).expect("a response");
                }
                _ => return Response::builder().status(404).body(Full::default()).expect("a response"),
            };
            // A wrong type, which must be ignored.
            let response = Response::builder().header(header::CONTENT_TYPE, "text/html");
            response.body(Full::from(content)).expect("a response")
        })
        .await
    }

    /// A client that may reach the `opened` address ranges for captures.
    fn egress(opened: &[&str]) -> Egress {
        let capture_ranges = opened.iter().map(|range| range.parse().expect("a range")).collect();
        Egress::new(EgressSettings { capture_ranges, ..EgressSettings::default() })
    }

    async fn fetched(server: &TestServer, path: &str) -> Option<String> {
        let url = format!("{}{path}", server.origin());
        let picture = fetch(&egress(&["127.0.0.0/8"]), "books", &url, "ana").await;
        picture.map(|picture| picture.media_type)
    }

    #[tokio::test]
    async fn a_picture_is_what_its_bytes_say() {
        let server = server().await;

        for (path, expected) in [
            ("/icon.png", Some("image/png")),
            ("/icon.gif", Some("image/gif")),
            ("/moved", Some("image/png")),
            ("/wide.png", None),
            ("/high.gif", None),
            ("/long.png", None),
            ("/icon.svg", None),
            ("/page", None),
            ("/cut.png", None),
            ("/damaged.png", None),
            ("/none", None),
        ] {
            assert_eq!(fetched(&server, path).await.as_deref(), expected, "{path}");
        }
    }

    #[tokio::test]
    async fn an_emoji_is_no_url_and_an_address_of_this_machine_is_not_asked() {
        let server = server().await;
        let url = format!("{}/icon.png", server.origin());

        assert_eq!(fetch(&egress(&[]), "books", "📚", "ana").await, None);
        assert_eq!(fetch(&egress(&[]), "books", &url, "ana").await, None);

        assert_eq!(server.connections(), 0);
    }
}
