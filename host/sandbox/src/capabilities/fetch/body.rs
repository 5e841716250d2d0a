//! Request and response bodies: size limits, counters, and a timeout between two chunks.

use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kitbag_net::egress::{BoxBody, BoxError, EgressError, ResponseBody};
use kitbag_net::wrapped_body::WrappedBody;
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
    WrappedBody::new(body, move |body, context| {
        let frame = ready!(body.poll_frame(context));
        usage.sent(data_size(frame.as_ref()));
        Poll::Ready(frame)
    })
}

/// Makes a response body fail beyond `limit` bytes, or when it pauses for longer than `pause`, and counts the
/// received bytes.
pub(super) fn incoming(
    body: ResponseBody,
    limit: usize,
    pause: Option<Duration>,
    usage: Usage,
) -> impl Body<Data = Bytes, Error = BoxError> + Send + Unpin + 'static {
    let mut waiting: Option<Pin<Box<Sleep>>> = None;
    WrappedBody::new(Limited::new(body, limit), move |body, context| {
        if let Poll::Ready(frame) = body.poll_frame(context) {
            waiting = None;
            usage.received(data_size(frame.as_ref()));
            return Poll::Ready(frame);
        }
        let Some(pause) = pause else { return Poll::Pending };
        ready!(waiting.get_or_insert_with(|| Box::pin(sleep(pause))).as_mut().poll(context));
        waiting = None;
        Poll::Ready(Some(Err(IdleTimeout.into())))
    })
}

/// Number of data bytes of a frame.
fn data_size(frame: Option<&Result<Frame<Bytes>, BoxError>>) -> usize {
    let Some(Ok(frame)) = frame else { return 0 };
    frame.data_ref().map_or(0, Bytes::len)
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

/// No data arrived for the duration of `pause`.
#[derive(Debug, thiserror::Error)]
#[error("the response paused for too long")]
struct IdleTimeout;
