//! Discards the rest of a body that its handler did not read.
//!
//! If the server closes the connection while a client is still sending a large upload, the client sees an
//! error and never the response (RFC 9112, section 9.6).

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use http_body::{Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::arrival::Arrival;

/// Maximum time for discarding the rest of a body; the response is sent afterwards in any case.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Lends the body to the handler, and discards what is left of it.
pub(super) async fn discard(request: Request, next: Next) -> Response {
    // With `Expect`, the client waits for `100 Continue` before it sends the body.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return next.run(request).await;
    }
    let arrival = request.extensions().get::<Arrival>().cloned().unwrap_or_default();
    let (lender, returned) = oneshot::channel();
    let request = request.map(|body| Body::new(Lent { body, lender: Some(lender) }));
    let response = next.run(request).await;
    if arrival.is_late() || arrival.is_whole() {
        return response;
    }

    let rest = async {
        let Ok(body) = returned.await else { return };
        let mut rest = body.into_data_stream();
        while let Some(Ok(_)) = rest.next().await {}
    };
    // The response is the same, whether or not all of it was read.
    let _ = timeout(DISCARD_TIMEOUT, rest).await;
    arrival.forgive();
    response
}

/// A body that is returned to `discard` when the handler drops it.
struct Lent {
    body: Body,
    lender: Option<oneshot::Sender<Body>>,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(lender) = self.lender.take() {
            // `discard` itself was cancelled.
            let _ = lender.send(std::mem::take(&mut self.body));
        }
    }
}
