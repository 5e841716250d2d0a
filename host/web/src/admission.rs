//! Work on a request for as long as its caller has access.
//!
//! Invariant: once the access of a user is ended, nothing runs for a request that the user sent before, and nothing
//! more of its answer is sent: calls, uploads and open streams end. Other processes hear of it by a hint, or by
//! looking once a second (`access/hints`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body::{Frame, SizeHint};
use kitbag_access::Access;
use kitbag_identity::Caller;
use thiserror::Error;

/// Size up to which an answer in memory is sent whatever happens, in bytes.
const SMALL_BYTES: u64 = 64 << 10;

/// The access of the caller was ended while the request was in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the access of the user was ended")]
pub(crate) struct Ended;

/// Runs the handler of an admitted caller's request until the caller's access is ended. The body of its response ends
/// then, too: a stream of events like any other, all else with an error, so that nobody takes it for complete.
pub(crate) async fn while_admitted(
    access: &Access,
    caller: &Arc<Caller>,
    handler: impl Future<Output = Response>,
) -> Result<Response, Ended> {
    let response = tokio::select! {
        biased;
        response = handler => response,
        () = access.until_ended(caller) => return Err(Ended),
    };
    if response.body().size_hint().exact().is_some_and(|bytes| bytes <= SMALL_BYTES) {
        return Ok(response);
    }
    let is_events = is_events(&response);
    let (access, caller) = (access.clone(), caller.clone());
    let end = async move { access.until_ended(&caller).await }.boxed();
    Ok(response.map(|body| Body::new(UntilEnded { body, end: Some(end), is_events })))
}

fn is_events(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    media_type.is_some_and(|media_type| media_type.as_bytes().starts_with(b"text/event-stream"))
}

/// A body that ends with the access of its reader.
struct UntilEnded {
    body: Body,
    /// The end of the access; `None` once that has ended the body.
    end: Option<BoxFuture<'static, ()>>,
    /// Whether the body is a stream of events, which may end at any time.
    is_events: bool,
}

impl HttpBody for UntilEnded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.end.as_mut().is_some_and(|end| end.poll_unpin(context).is_ready()) {
            self.end = None;
            // Dropped here, so that the work on the rest ends.
            self.body = Body::empty();
            return Poll::Ready((!self.is_events).then(|| Err(axum::Error::new(Ended))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures::{StreamExt, stream};
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_stream_of_events_ends_with_the_access_and_all_else_breaks_off() {
        for (is_events, is_error) in [(true, None), (false, Some(true))] {
            let (end, ended) = oneshot::channel::<()>();
            let first = stream::iter(["first"].map(Ok::<_, io::Error>));
            let body = Body::from_stream(first.chain(stream::pending()));
            let body = UntilEnded { body, end: Some(ended.map(drop).boxed()), is_events };
            let mut body = Body::new(body).into_data_stream();
            assert_eq!(body.next().await.expect("it goes on").expect("it is whole"), "first");

            drop(end);

            assert_eq!(body.next().await.map(|rest| rest.is_err()), is_error);
            assert!(body.next().await.is_none());
        }
    }
}
