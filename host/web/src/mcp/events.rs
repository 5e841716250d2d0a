//! Answers as streams of events, for clients that take nothing else, and for calls that take long: proxies close
//! a connection on which nothing comes, many of them after a minute.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::time::{sleep, timeout};

use super::answer::TransportError;
use super::media::STREAM;
use crate::media_type::{self, JSON};

/// How often a quiet stream says that it is there.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// How long nothing may come on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Until a stream is opened, for a client that takes one.
    silence: Duration,
    /// Between two signs of life.
    interval: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { silence: Duration::from_secs(5), interval: KEEP_ALIVE_INTERVAL }
    }
}

/// A comment, which clients ignore.
const SIGN: Bytes = Bytes::from_static(b":\n\n");
/// Tells proxies not to collect the stream.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

type Chunks = BoxStream<'static, Result<Bytes, axum::Error>>;

/// Converts an answer in JSON to a stream of one event; returns others as they are.
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

/// Marks a stream, so that proxies pass each event on.
pub(super) fn unbuffered(mut response: Response) -> Response {
    if media_type::is(response.headers(), STREAM) {
        let (name, value) = UNBUFFERED;
        response.headers_mut().insert(name, value);
    }
    response
}

/// Waits for an answer; one that takes long becomes a stream with signs of life before it. Dropping the stream drops the
/// answer, as closing a request does.
pub(super) async fn patiently(
    patience: Patience,
    answer: impl Future<Output = Result<Response, TransportError>> + Send + 'static,
) -> Result<Response, TransportError> {
    let mut answer = Box::pin(answer);
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
        // The signs end with the answer.
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

/// The events of an answer: those of a stream, or one with what is in JSON. An answer without a body has none.
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

/// An event whose data is a body of one line, as compact JSON is.
fn event(body: Body) -> Chunks {
    let literal = |text: &'static str| stream::once(async move { Ok(Bytes::from_static(text.as_bytes())) });
    literal("event: message\ndata: ").chain(body.into_data_stream()).chain(literal("\n\n")).boxed()
}

#[cfg(test)]
mod tests {
    use axum::Json;
    use axum::body::to_bytes;
    use serde_json::json;

    use super::*;

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
        let response =
            patiently(Patience::default(), async { Ok(Json(json!({ "id": 1 })).into_response()) }).await;

        assert_eq!(text(response.ok().expect("an answer")).await, "{\"id\":1}");
    }

    #[tokio::test]
    async fn a_slow_answer_comes_after_signs_of_life() {
        let (silence, interval) = (Duration::ZERO, Duration::from_millis(1));
        let slow = async {
            sleep(Duration::from_millis(100)).await;
            Ok(Json(json!({ "id": 1 })).into_response())
        };

        let response = patiently(Patience { silence, interval }, slow).await.ok().expect("a stream");

        assert_eq!(response.status(), StatusCode::OK);
        let text = text(response).await;
        let signs = text.strip_suffix("event: message\ndata: {\"id\":1}\n\n").expect("the answer comes last");
        assert!(signs.len() >= 6 && signs.replace(":\n\n", "").is_empty(), "{text:?}");
    }

    #[tokio::test]
    async fn a_client_that_goes_away_ends_a_slow_answer() {
        let (held, gone) = tokio::sync::oneshot::channel::<()>();
        let slow = async move {
            let _held = held;
            std::future::pending().await
        };

        let patience = Patience { silence: Duration::ZERO, ..Patience::default() };
        drop(patiently(patience, slow).await.ok().expect("a stream"));

        assert!(gone.await.is_err(), "it was dropped");
    }
}
