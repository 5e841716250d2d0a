//! Responses as event streams, for clients that accept nothing else, and for long calls: proxies close idle
//! connections, many of them after a minute.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::time::{sleep, timeout};

use super::answer::TransportError;
use super::media::STREAM;
use crate::media_type::{self, JSON};

/// Interval between keep-alive comments on a quiet stream.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Keep-alive times of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Silence before a stream is opened, for a client that accepts one.
    silence: Duration,
    /// Interval between keep-alive comments.
    interval: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { silence: Duration::from_secs(5), interval: KEEP_ALIVE_INTERVAL }
    }
}

/// Keep-alive: an SSE comment, which clients ignore.
const SIGN: Bytes = Bytes::from_static(b":\n\n");
/// Header that tells proxies not to buffer the stream.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

type Chunks = BoxStream<'static, Result<Bytes, axum::Error>>;

/// Converts a JSON response to a stream of one event; returns others unchanged.
pub(super) fn one_event(response: Response) -> Response {
    let is_json = response.status() == StatusCode::OK && media_type::is(response.headers(), JSON);
    if !is_json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(STREAM));
    parts.headers.extend([UNBUFFERED].map(|(name, value)| (Some(name), value)));
    Response::from_parts(parts, Body::from_stream(event(body)))
}

/// Adds the header that stops proxies from buffering, if the response is a stream.
pub(super) fn unbuffered(mut response: Response) -> Response {
    if media_type::is(response.headers(), STREAM) {
        let (name, value) = UNBUFFERED;
        response.headers_mut().insert(name, value);
    }
    response
}

/// Waits for an answer. If it takes long, responds at once with a stream that sends keep-alive comments until
/// the answer is ready. Dropping the stream drops the answer, as closing a request does.
pub(super) async fn patiently(
    patience: Patience,
    mut answer: BoxFuture<'static, Result<Response, TransportError>>,
) -> Result<Response, TransportError> {
    if let Ok(answered) = timeout(patience.silence, &mut answer).await {
        return answered;
    }
    let signs = stream::once(async { Ok(SIGN) }).chain(stream::unfold((), move |()| async move {
        sleep(patience.interval).await;
        Some((Ok(SIGN), ()))
    }));
    let (answered, ended) = tokio::sync::oneshot::channel();
    let answer = async move {
        let chunks = chunks(answer.await.into_response());
        // Ends the keep-alive comments.
        let _ = answered.send(());
        chunks
    };
    let ended = async move {
        let _ = ended.await;
    };
    let body = stream::select(signs.take_until(ended), stream::once(answer).flatten());
    Ok(([UNBUFFERED, (header::CONTENT_TYPE, HeaderValue::from_static(STREAM))], Body::from_stream(body))
        .into_response())
}

/// Events of a response: those of a stream, or one with the JSON body. None for a response without a body.
fn chunks(response: Response) -> Chunks {
    if media_type::is(response.headers(), STREAM) {
        return response.into_body().into_data_stream().boxed();
    }
    if media_type::is(response.headers(), JSON) {
        event(response.into_body())
    } else {
        stream::empty().boxed()
    }
}

/// An event whose data is a body without line breaks, such as compact JSON.
fn event(body: Body) -> Chunks {
    let literal = |text: &'static str| stream::once(async move { Ok(Bytes::from_static(text.as_bytes())) });
    literal("event: message\ndata: ").chain(body.into_data_stream()).chain(literal("\n\n")).boxed()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::json;

    use super::*;
    use crate::json::Json;

    async fn text(response: Response) -> String {
        let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("the body is whole");
        String::from_utf8(bytes.into()).expect("it is text")
    }

    #[tokio::test]
    async fn an_answer_in_json_is_one_event_and_others_stay() {
        let response = one_event(Json(json!({ "id": 1 })).into_response());
        assert!(media_type::is(response.headers(), STREAM) && response.headers().contains_key(UNBUFFERED.0));
        assert_eq!(text(response).await, "event: message\ndata: {\"id\":1}\n\n");

        let refused = one_event((StatusCode::BAD_REQUEST, Json(json!({ "id": 1 }))).into_response());
        assert!(media_type::is(refused.headers(), JSON));
        assert_eq!(one_event(StatusCode::ACCEPTED.into_response()).status(), StatusCode::ACCEPTED);
    }

    #[tokio::test]
    async fn a_quick_answer_stays_as_it_is() {
        let quick = Box::pin(async { Ok(Json(json!({ "id": 1 })).into_response()) });

        let response = patiently(Patience::default(), quick).await;

        assert_eq!(text(response.ok().expect("an answer")).await, "{\"id\":1}");
    }

    #[tokio::test]
    async fn a_slow_answer_comes_after_signs_of_life() {
        let (silence, interval) = (Duration::ZERO, Duration::from_millis(1));
        let slow = Box::pin(async {
            sleep(Duration::from_millis(100)).await;
            Ok(Json(json!({ "id": 1 })).into_response())
        });

        let response = patiently(Patience { silence, interval }, slow).await.ok().expect("a stream");

        assert_eq!(response.status(), StatusCode::OK);
        let text = text(response).await;
        let signs = text.strip_suffix("event: message\ndata: {\"id\":1}\n\n").expect("the answer comes last");
        assert!(signs.len() >= 6 && signs.replace(":\n\n", "").is_empty(), "{text:?}");
    }

    #[tokio::test]
    async fn a_client_that_goes_away_ends_a_slow_answer() {
        let (held, gone) = tokio::sync::oneshot::channel::<()>();
        let slow = Box::pin(async move {
            let _held = held;
            std::future::pending().await
        });

        let patience = Patience { silence: Duration::ZERO, ..Patience::default() };
        drop(patiently(patience, slow).await.ok().expect("a stream"));

        assert!(gone.await.is_err(), "it was dropped");
    }
}
