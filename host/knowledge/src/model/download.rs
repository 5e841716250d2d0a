//! Download of one file over HTTP, as a stream, with a size limit.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use kitbag_base::redaction::Redactor;
use kitbag_net::egress::{Egress, EgressError, Policy, Redirects, Repeatable, ResponseBody, Step};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use url::Url;

use super::{DownloadError, FetchError};

/// Longest pause without data.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Expected size of a file, in bytes.
#[derive(Clone, Copy)]
pub(super) enum Length {
    Exactly(u64),
    AtMost(u64),
}

/// Downloads a file; `progress` is called with the number of bytes received so far.
pub(super) async fn download(
    egress: &Egress,
    url: &Url,
    target: &Path,
    length: Length,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<(), FetchError> {
    let received = receive(egress, url, target, length, progress).await;
    received.map_err(|cause| FetchError::Download { url: url.to_string(), cause })
}

async fn receive(
    egress: &Egress,
    url: &Url,
    target: &Path,
    length: Length,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<(), DownloadError> {
    let (Length::Exactly(largest) | Length::AtMost(largest)) = length;
    let mut body = open(egress, url).await?;
    let mut file = File::create(target).await.map_err(DownloadError::Write)?;
    let mut received = 0;
    progress(received);
    loop {
        let frame = match timeout(STALL_TIMEOUT, body.frame()).await {
            Ok(None) => break,
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) | Err(_) => return Err(DownloadError::BrokeOff(received)),
        };
        let Ok(data) = frame.into_data() else { continue };
        received += data.len() as u64;
        if received > largest {
            return Err(DownloadError::TooLarge(largest));
        }
        file.write_all(&data).await.map_err(DownloadError::Write)?;
        progress(received);
    }
    file.flush().await.map_err(DownloadError::Write)?;
    match length {
        Length::Exactly(size) if received < size => Err(DownloadError::BrokeOff(received)),
        Length::Exactly(_) | Length::AtMost(_) => Ok(()),
    }
}

/// Requests a URL, and follows redirects: hubs store large files elsewhere.
async fn open(egress: &Egress, url: &Url) -> Result<ResponseBody, DownloadError> {
    let invalid = |_| EgressError::InvalidRequest { reason: "no URL of a file" };
    let request = Request::get(url.as_str()).body(Empty::<Bytes>::new()).map_err(invalid)?;
    let mut request = Repeatable::new(request)?;
    let mut redirects = Redirects::default();
    let no_secrets = Redactor::new([]);
    loop {
        let broken = |_| EgressError::InvalidRequest { reason: "it cannot be sent again" };
        let response = egress.send(request.next().await.map_err(broken)?, &Policy::Operator).await?;
        match redirects.step(&mut request, &response, &no_secrets)? {
            Step::Follow => {}
            Step::Answer if response.status().is_success() => return Ok(response.into_body()),
            Step::Answer => return Err(DownloadError::Status(response.status())),
        }
    }
}
