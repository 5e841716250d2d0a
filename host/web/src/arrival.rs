//! Time limits for request bodies, around all routes at one place, so that no route is without them. Time
//! during which no handler reads the body does not count. Where signed-in users upload, what a handler left
//! unread is read and discarded: if the server closes the connection while a client is still sending a large
//! upload, the client sees an error and never the response (RFC 9112, section 9.6).

use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use http_body::{Frame, SizeHint};
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::error::WebError;
use super::pace::{Allowance, Pace};

/// Maximum time for discarding the rest of a body; the response is sent afterwards in any case.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Progress of reading a request's body.
#[derive(Clone, Debug, Default)]
struct Arrival(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_late: AtomicBool,
    is_whole: AtomicBool,
}

impl Arrival {
    /// Whether a read of the body timed out.
    fn is_late(&self) -> bool {
        self.0.is_late.load(Ordering::Relaxed)
    }

    /// Resets the timeout: the handler finished without the body.
    fn forgive(&self) {
        self.0.is_late.store(false, Ordering::Relaxed);
    }

    /// Whether the body was read to its end.
    fn is_whole(&self) -> bool {
        self.0.is_whole.load(Ordering::Relaxed)
    }
}

/// What becomes of the part of a body that its handler has not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It is read and discarded before the response is sent.
    Discarded,
    /// It is not waited for.
    Unread,
}

/// Answers 408 if the handler waited for a body that did not arrive in time (RFC 9110, section 15.5.9). A
/// handler that did not wait for the body still sends its own response. Closes the connection if part of the
/// body is unread.
pub(super) async fn require<F>(
    pace: Pace,
    rest: Rest,
    request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    if request.body().is_end_stream() {
        return handle(request).await;
    }
    let arrival = Arrival::default();
    // With `Expect`, the client waits for `100 Continue` before it sends the body.
    let discards = rest == Rest::Discarded && !request.headers().contains_key(header::EXPECT);
    let (lender, returned) = oneshot::channel();
    let request = request.map(|body| Body::new(Arriving::new(body, pace, arrival.clone()).lent_by(lender)));
    let response = handle(request).await;
    if discards && !arrival.is_late() && !arrival.is_whole() {
        let discarding = async {
            let Ok(body) = returned.await else { return };
            let mut pieces = Body::new(Arriving::new(body, pace, arrival.clone())).into_data_stream();
            while let Some(Ok(_)) = pieces.next().await {}
        };
        // The response is the same, whether or not all of it was read.
        let _ = timeout(DISCARD_TIMEOUT, discarding).await;
        arrival.forgive();
    }
    let mut response = if arrival.is_late() { too_late(pace) } else { response };
    if !arrival.is_whole() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn too_late(Pace { pause, rate }: Pace) -> Response {
    let detail = format!(
        "The body of the request did not arrive in time: nothing came for {} s, or less than {rate} bytes a \
         second. Send the request again.",
        pause.as_secs_f64()
    );
    WebError::new(StatusCode::REQUEST_TIMEOUT, detail).into_response()
}

/// Timeout error that ends a body early.
#[derive(Debug, Error)]
#[error("the body did not arrive in time")]
struct Late;

/// A body that ends with an error if it does not arrive in time.
struct Arriving {
    body: Body,
    allowance: Allowance,
    arrival: Arrival,
    /// Receives what is left of the body when this is dropped.
    lender: Option<oneshot::Sender<Body>>,
}

impl Arriving {
    fn new(body: Body, pace: Pace, arrival: Arrival) -> Self {
        Self { body, allowance: Allowance::new(pace), arrival, lender: None }
    }

    fn lent_by(mut self, lender: oneshot::Sender<Body>) -> Self {
        self.lender = Some(lender);
        self
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            self.allowance.progress(data.map_or(0, Bytes::len));
            if frame.is_none() || self.body.is_end_stream() {
                self.arrival.0.is_whole.store(true, Ordering::Relaxed);
            }
            return Poll::Ready(frame);
        }
        ready!(self.allowance.poll_used_up(context));
        self.arrival.0.is_late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(Late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if let Some(lender) = self.lender.take() {
            // Fails if `require` was cancelled.
            let _ = lender.send(take(&mut self.body));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::iter::repeat_n;
    use std::time::Duration;

    use axum::body::to_bytes;
    use futures::{StreamExt, join, stream};
    use tokio::time::{sleep, timeout};

    use super::*;

    const PACE: Pace = Pace { pause: Duration::from_secs(2), rate: 4096 };
    const MOMENT: Duration = Duration::from_millis(200);
    const NEVER: Duration = Duration::from_hours(1);

    fn paced(pieces: impl stream::Stream<Item = Bytes> + Send + 'static) -> Body {
        let body = Body::from_stream(pieces.map(Ok::<_, io::Error>));
        Body::new(Arriving::new(body, PACE, Arrival::default()))
    }

    /// Whether the whole body arrives in time, for pieces given as (pause before the piece, length in bytes).
    async fn arrives(pieces: impl IntoIterator<Item = (Duration, usize), IntoIter: Send + 'static>) -> bool {
        let pieces = stream::iter(pieces).then(async |(pause, length)| {
            sleep(pause).await;
            Bytes::from(vec![0; length])
        });
        let reading = to_bytes(paced(pieces.boxed()), usize::MAX);
        timeout(Duration::from_mins(1), reading).await.expect("it ends, whole or not").is_ok()
    }

    #[tokio::test]
    async fn a_pause_ends_a_body_and_so_does_a_drip() {
        let (silent, paused, dripped, below) = join!(
            arrives([(NEVER, 1)]),
            arrives([(MOMENT, 1 << 20), (NEVER, 1)]),
            arrives(repeat_n((MOMENT, 1), 1000)),
            // A quarter of the minimum rate.
            arrives(repeat_n((MOMENT, 200), 1000)),
        );

        assert_eq!([silent, paused, dripped, below], [false; 4]);
    }

    #[tokio::test]
    async fn a_slow_upload_that_goes_on_is_not_cut_off() {
        // Five times the minimum rate, for longer than the maximum pause.
        assert!(arrives(repeat_n((MOMENT, 4096), 15)).await);
    }

    #[tokio::test]
    async fn a_client_is_not_blamed_for_a_server_that_does_not_read() {
        let mut body = paced(stream::repeat(Bytes::from_static(b"x")).take(2)).into_data_stream();

        for _ in 0..2 {
            sleep(PACE.pause + MOMENT).await;
            assert!(matches!(body.next().await, Some(Ok(_))));
        }
    }
}
