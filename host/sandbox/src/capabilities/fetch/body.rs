//! Request and response bodies: size limits, counters, and a timeout between two chunks.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kitbag_net::egress::{BoxBody, BoxError, EgressError, ResponseBody};
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::ahead::ReadAheadBody;
use crate::observations::{Log, Usage};

/// Makes a request body fail beyond `limit` bytes.
pub(super) fn outgoing(body: WasiBody, limit: usize) -> BoxBody {
    let explain = move |error: BoxError| {
        if error.is::<LengthLimitError>() { EgressError::RequestTooLarge { limit }.into() } else { error }
    };
    Limited::new(body, limit).map_err(explain).boxed_unsync()
}

/// Counts the sent bytes of a request body.
pub(super) fn counted(
    body: BoxBody,
    usage: Usage,
) -> impl Body<Data = Bytes, Error = BoxError> + Send + 'static {
    Counted { body, count: move |size| usage.sent(size) }
}

/// Makes a response body fail beyond `limit` bytes, or when it pauses for longer than `pause`, and counts the
/// received bytes.
pub(super) fn incoming(
    body: ResponseBody,
    limit: usize,
    pause: Option<Duration>,
    usage: Usage,
) -> impl Body<Data = Bytes, Error = BoxError> + Send + Unpin + 'static {
    let paced = WithIdleTimeout { body, pause, waiting: None };
    Counted { body: Limited::new(paced, limit), count: move |size| usage.received(size) }
}

/// Logs the cause of a failed response body for the author, and converts it to the guest's error.
pub(super) fn with_logged_errors(body: ReadAheadBody, limit: usize, log: Log) -> WasiBody {
    body.map_err(move |error| {
        if error.is::<LengthLimitError>() {
            log.note(format!("fetch: the response is larger than {limit} bytes and was cut off"));
            Error::HttpResponseBodySize(Some(limit as u64))
        } else if error.is::<IdleTimeout>() {
            log.note("fetch: the response paused for longer than the request allows".to_owned());
            Error::ConnectionReadTimeout
        } else {
            Error::HttpResponseIncomplete
        }
    })
    .boxed_unsync()
}

/// Reports the size of each chunk.
struct Counted<B, C> {
    body: B,
    count: C,
}

impl<B, C> Body for Counted<B, C>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
    C: Fn(usize) + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            (self.count)(data.len());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Fails if no data arrives for the duration `pause`.
struct WithIdleTimeout {
    body: ResponseBody,
    pause: Option<Duration>,
    waiting: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the response paused for too long")]
struct IdleTimeout;

impl Body for WithIdleTimeout {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { body, pause, waiting } = &mut *self;
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            *waiting = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(pause) = *pause else { return Poll::Pending };
        let over = waiting.get_or_insert_with(|| Box::pin(sleep(pause))).as_mut().poll(context);
        ready!(over);
        *waiting = None;
        Poll::Ready(Some(Err(IdleTimeout.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
