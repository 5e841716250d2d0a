//! Records of a toolkit's calls, as newline-delimited JSON, on request followed as new ones come.

mod parameters;

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::Shared;
use super::error::WebError;
use crate::access::{AccessError, Reader, ReadingMode, User};
use crate::invocations::Logged;
use parameters::Parameters;

/// How long a stream is silent before an empty line is sent.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// How long a stream lasts. Its client then reconnects, and its token is verified again.
const MAX_STREAM_TIME: Duration = Duration::from_hours(1);

/// `GET /toolkits/{id}/logs?since=…&after=…&limit=…&follow=true`: oldest first.
pub(super) async fn read(
    State(shared): State<Shared>,
    user: User,
    Path(id): Path<String>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, WebError> {
    let records = user.records(&id).await?;
    let Query(parameters) =
        parameters.map_err(|rejection| WebError::new(StatusCode::BAD_REQUEST, rejection.body_text()))?;
    let mode = if parameters.follow { ReadingMode::Follow } else { ReadingMode::Once };
    let reader = records.read(parameters.range()?, mode).await?;
    let now = Instant::now();
    let tail = Tail { reader, mode, stopping: shared.stopping, ends: now + MAX_STREAM_TIME, heard: now };
    let body = Body::from_stream(stream::unfold(Some(tail), |tail| async { tail?.next().await }));
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

/// The rest of one answer.
struct Tail {
    reader: Reader,
    mode: ReadingMode,
    stopping: CancellationToken,
    ends: Instant,
    /// When something was last sent.
    heard: Instant,
}

impl Tail {
    /// The next piece of the body. A failure ends it, and cuts the connection: a log that is not whole
    /// must not look as if it were.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Option<Self>)> {
        let follows = self.mode == ReadingMode::Follow;
        loop {
            // A client that follows can reconnect; other requests are answered completely.
            if follows && (self.stopping.is_cancelled() || self.ends <= Instant::now()) {
                return None;
            }
            let page = match self.reader.next_page().await {
                Ok(page) => lines(&page),
                Err(AccessError::Toolkit(removed)) => return Some((Err(io::Error::other(removed)), None)),
                Err(cause) => Err(io::Error::other(cause)),
            };
            match page {
                Err(cause) => {
                    error!(%cause, "records of calls cannot be read");
                    return Some((Err(cause), None));
                }
                Ok(lines) if !lines.is_empty() => return Some((Ok(lines), Some(self.was_heard()))),
                Ok(_) => {}
            }
            if !follows {
                return None;
            }
            tokio::select! {
                () = self.stopping.cancelled() => return None,
                () = sleep_until(self.ends) => return None,
                () = sleep_until(self.heard + HEARTBEAT_INTERVAL) => {
                    return Some((Ok(Bytes::from_static(b"\n")), Some(self.was_heard())));
                }
                more = self.reader.more() => more?,
            }
        }
    }

    fn was_heard(self) -> Self {
        Self { heard: Instant::now(), ..self }
    }
}

fn lines(page: &[Logged]) -> io::Result<Bytes> {
    let mut text = Vec::new();
    for record in page {
        serde_json::to_writer(&mut text, record)?;
        text.push(b'\n');
    }
    Ok(text.into())
}
