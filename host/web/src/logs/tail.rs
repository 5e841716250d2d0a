//! Response body with records: existing ones and, on request, new ones as they come.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use kitbag_access::values::invocations::Logged;
use kitbag_access::{AccessError, Reader, ReadingMode};
use kitbag_base::bounded_json::compact;
use kitbag_base::workers::INLINE_BYTES;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::share::RequestShare;

/// Longest silence of a stream before an empty line is sent.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// Source of the lines of a response.
pub(crate) trait Lines: Send + 'static {
    /// Returns the next lines; empty if there are none for now. Logs failures.
    fn next_lines(&mut self) -> impl Future<Output = io::Result<Bytes>> + Send;

    /// Waits until there may be more lines; `None` if there will never be any.
    fn more(&mut self) -> impl Future<Output = Option<()>> + Send;
}

/// Line source that reads call records.
pub(crate) struct CallLines {
    pub(crate) reader: Reader,
    pub(crate) share: RequestShare,
    pub(crate) encode: EncodeLines<Logged>,
}

/// Encodes each value as a line of JSON; returns `None` beyond a number of bytes.
pub(crate) type EncodeLines<T> = fn(&[T], usize) -> Option<Bytes>;

/// A response that streams records.
pub(crate) struct Tail<L> {
    pub(crate) lines: L,
    pub(crate) mode: ReadingMode,
    /// Cancelled when the server is asked to stop.
    pub(crate) stopping: CancellationToken,
    /// Maximum duration of a stream. The client then reconnects and is authenticated again.
    pub(crate) max_time: Duration,
}

/// State of the body while it is sent.
struct Rest<L> {
    tail: Tail<L>,
    ends: Instant,
    /// Time at which bytes were last sent.
    heard: Instant,
}

impl<L: Lines> IntoResponse for Tail<L> {
    fn into_response(self) -> Response {
        let now = Instant::now();
        let rest = Rest { ends: now + self.max_time, heard: now, tail: self };
        let body = Body::from_stream(stream::unfold(Some(rest), |rest| async { rest?.next().await }));
        let headers = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
        (headers, body).into_response()
    }
}

impl Lines for CallLines {
    async fn next_lines(&mut self) -> io::Result<Bytes> {
        match self.reader.next_page().await {
            Ok(page) => Ok(encoded(&self.share, page, self.encode).await),
            Err(AccessError::Toolkit(removed)) => Err(io::Error::other(removed)),
            Err(cause) => {
                error!(%cause, "records of calls cannot be read");
                Err(io::Error::other(cause))
            }
        }
    }

    async fn more(&mut self) -> Option<()> {
        self.reader.more().await
    }
}

impl<L: Lines> Rest<L> {
    /// Returns the next piece of the body. A failure aborts the connection: a truncated log must not look
    /// complete.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Option<Self>)> {
        let Tail { lines, mode, stopping, .. } = &mut self.tail;
        let follows = *mode == ReadingMode::Follow;
        loop {
            // Only following clients are cut off, since they can reconnect; other requests are answered
            // completely.
            if follows && (stopping.is_cancelled() || self.ends <= Instant::now()) {
                return None;
            }
            match lines.next_lines().await {
                Err(cause) => return Some((Err(cause), None)),
                Ok(lines) if !lines.is_empty() => return Some((Ok(lines), Some(self.was_heard()))),
                Ok(_) => {}
            }
            if !follows {
                return None;
            }
            tokio::select! {
                () = stopping.cancelled() => return None,
                () = sleep_until(self.ends) => return None,
                () = sleep_until(self.heard + HEARTBEAT_INTERVAL) => {
                    return Some((Ok(Bytes::from_static(b"\n")), Some(self.was_heard())));
                }
                more = lines.more() => more?,
            }
        }
    }

    fn was_heard(self) -> Self {
        Self { heard: Instant::now(), ..self }
    }
}

/// Encodes a page; a large one off the threads that serve requests.
pub(crate) async fn encoded<T: Send + 'static>(
    share: &RequestShare,
    page: Vec<T>,
    encode: EncodeLines<T>,
) -> Bytes {
    let Some(lines) = encode(&page, INLINE_BYTES) else {
        let whole = share.in_turn(move || encode(&page, usize::MAX)).await;
        return whole.expect("records always serialise");
    };
    lines
}

/// Encodes each value as a line of JSON; returns `None` beyond `max_bytes`.
pub(crate) fn json_lines<T: serde::Serialize>(
    values: impl IntoIterator<Item = T>,
    max_bytes: usize,
) -> Option<Bytes> {
    let mut text = Vec::new();
    for value in values {
        text.append(&mut compact(&value, max_bytes.checked_sub(text.len() + 1)?)?);
        text.push(b'\n');
    }
    Some(text.into())
}
