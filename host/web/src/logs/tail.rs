//! The body of an answer with records: those that there are and, on request, new ones as they come.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use kitbag_access::values::invocations::Logged;
use kitbag_access::{AccessError, Reader, ReadingMode};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::error;

/// How long a stream is silent before an empty line is sent.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// Where the lines of an answer come from.
pub(crate) trait Lines: Send + 'static {
    /// The next lines; empty if there are no more for now. A failure is logged here.
    fn next_lines(&mut self) -> impl Future<Output = io::Result<Bytes>> + Send;

    /// Waits until there may be more; `None` if there will never be more.
    fn more(&mut self) -> impl Future<Output = Option<()>> + Send;
}

/// Records of calls.
pub(crate) struct CallLines {
    pub(crate) reader: Reader,
    /// Writes each record as a line of JSON.
    pub(crate) lines: fn(&[Logged]) -> io::Result<Bytes>,
}

/// An answer with records.
pub(crate) struct Tail<L> {
    pub(crate) lines: L,
    pub(crate) mode: ReadingMode,
    /// Cancelled when the server is asked to stop.
    pub(crate) stopping: CancellationToken,
    /// How long a client may follow. It then reconnects, and whose it is is verified again.
    pub(crate) max_time: Duration,
}

/// The rest of an answer.
struct Rest<L> {
    tail: Tail<L>,
    ends: Instant,
    /// When something was last sent.
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
        let page = match self.reader.next_page().await {
            Ok(page) => (self.lines)(&page),
            Err(AccessError::Toolkit(removed)) => return Err(io::Error::other(removed)),
            Err(cause) => Err(io::Error::other(cause)),
        };
        page.inspect_err(|cause| error!(%cause, "records of calls cannot be read"))
    }

    async fn more(&mut self) -> Option<()> {
        self.reader.more().await
    }
}

impl<L: Lines> Rest<L> {
    /// The next piece of the body. A failure ends it, and cuts the connection: a log that is not whole
    /// must not look as if it were.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Option<Self>)> {
        let Tail { lines, mode, stopping, .. } = &mut self.tail;
        let follows = *mode == ReadingMode::Follow;
        loop {
            // A client that follows can reconnect; other requests are answered completely.
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

/// Each value as a line of JSON.
pub(crate) fn json_lines<T: serde::Serialize>(values: impl IntoIterator<Item = T>) -> io::Result<Bytes> {
    let mut text = Vec::new();
    for value in values {
        serde_json::to_writer(&mut text, &value)?;
        text.push(b'\n');
    }
    Ok(text.into())
}
