//! Bodies on their way: bounded, counted, and given up when they pause for too long.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::ahead::Ahead;
use crate::egress::{BoxBody, BoxError, EgressError};
use crate::observations::{Log, Usage};

/// Cuts a request's body off at `most` bytes.
pub(super) fn outgoing(body: WasiBody, most: usize) -> BoxBody {
    let explain = move |error: BoxError| {
        if error.is::<LengthLimitError>() {
            EgressError::RequestTooLarge { limit: most }.into()
        } else {
            error
        }
    };
    Limited::new(body, most).map_err(explain).boxed_unsync()
}

/// Counts what is sent of a request's body.
pub(super) fn counted(body: BoxBody, usage: Usage) -> BoxBody {
    Counted { body, count: move |size| usage.sent(size) }.boxed_unsync()
}

/// Cuts a response off at `most` bytes, or where it pauses for longer than `pause`, and counts what
/// arrives.
pub(super) fn incoming(body: Incoming, most: usize, pause: Option<Duration>, usage: Usage) -> BoxBody {
    let paced = Paced { body, pause, waiting: None };
    let count = move |size| usage.received(size);
    Counted { body: Limited::new(paced, most).boxed_unsync(), count }.boxed_unsync()
}

/// Tells the author why a response broke off, and the guest that it did.
pub(super) fn explained(body: Ahead, most: usize, log: Log) -> WasiBody {
    body.map_err(move |error| {
        if error.is::<LengthLimitError>() {
            log.note(format!("fetch: the response is larger than {most} bytes and was cut off"));
            Error::HttpResponseBodySize(Some(most as u64))
        } else if error.is::<Paused>() {
            log.note("fetch: the response paused for longer than the request allows".to_owned());
            Error::ConnectionReadTimeout
        } else {
            Error::HttpResponseIncomplete
        }
    })
    .boxed_unsync()
}

/// Hands the size of each piece on.
struct Counted<C> {
    body: BoxBody,
    count: C,
}

impl<C: Fn(usize) + Unpin> Body for Counted<C> {
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

/// Fails when nothing comes for a while.
struct Paced {
    body: Incoming,
    pause: Option<Duration>,
    waiting: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the response paused for too long")]
struct Paused;

impl Body for Paced {
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
        Poll::Ready(Some(Err(Paused.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
