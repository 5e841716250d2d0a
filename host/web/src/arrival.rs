//! Time limits for request bodies, as a layer around the whole router, so that no route is without them. Time
//! during which no handler reads the body does not count.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use kitbag_net::wrapped_body::WrappedBody;
use thiserror::Error;

use super::error::WebError;
use super::pace::{Allowance, Pace};

/// Progress of reading a request's body; stored in the request's extensions.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrival(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_late: AtomicBool,
    is_whole: AtomicBool,
}

impl Arrival {
    /// Whether a read of the body timed out.
    pub(super) fn is_late(&self) -> bool {
        self.0.is_late.load(Ordering::Relaxed)
    }

    /// Resets the timeout: the handler finished without the body.
    pub(super) fn forgive(&self) {
        self.0.is_late.store(false, Ordering::Relaxed);
    }

    /// Whether the body was read to its end.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_whole.load(Ordering::Relaxed)
    }
}

/// Answers 408 if the handler waited for a body that did not arrive in time (RFC 9110, section 15.5.9). A
/// handler that did not wait for the body still sends its own response. Closes the connection if part of the
/// body is unread.
pub(super) async fn require(pace: Pace, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let arrival = Arrival::default();
    let mut request = request.map(|body| timed(body, pace, arrival.clone()));
    request.extensions_mut().insert(arrival.clone());
    let response = next.run(request).await;
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

/// Ends a body with an error if it does not arrive in time.
fn timed(body: Body, pace: Pace, arrival: Arrival) -> Body {
    let mut allowance = Allowance::new(pace);
    Body::new(WrappedBody::new(body, move |mut body: Pin<&mut Body>, context| {
        if let Poll::Ready(frame) = body.as_mut().poll_frame(context) {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            allowance.progress(data.map_or(0, Bytes::len));
            if frame.is_none() || body.is_end_stream() {
                arrival.0.is_whole.store(true, Ordering::Relaxed);
            }
            return Poll::Ready(frame);
        }
        ready!(allowance.poll_used_up(context));
        arrival.0.is_late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err(axum::Error::new(Late))))
    }))
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
        timed(Body::from_stream(pieces.map(Ok::<_, io::Error>)), PACE, Arrival::default())
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
