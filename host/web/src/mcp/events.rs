//! Responses as event streams: for clients that accept nothing else, for messages that come before the answer,
//! and for long calls: proxies close idle connections, many of them after a minute.

use std::future::ready;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::media::{Accepts, STREAM};
use crate::media_type::{self, JSON};

/// Interval between keep-alive comments on a quiet stream.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Maximum number of messages queued for a slow client.
const MAX_WAITING_MESSAGES: usize = 16;

/// Keep-alive times of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Silence before a stream is opened.
    silence: Duration,
    /// Interval between keep-alive comments.
    interval: Duration,
}

impl Patience {
    /// Returns the times for a client that accepts streams. Only one that names them gets one for silence.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let silence = if Accepts::names_stream(headers) { Duration::from_secs(5) } else { Duration::MAX };
        Self { silence, interval: KEEP_ALIVE_INTERVAL }
    }
}

/// Sends messages to the client of a request before its answer. Clones share the queue.
#[derive(Clone)]
pub(super) struct Outbox(mpsc::Sender<String>);

/// The client of a request has gone away.
#[derive(Debug)]
pub(super) struct Gone;

impl Outbox {
    /// Sends a notification, unless the client reads slowly.
    pub(super) fn notify(&self, notification: &impl Serialize) {
        let _ = self.0.try_send(text(notification));
    }

    /// Sends a request, once there is room for it.
    pub(super) async fn request(&self, request: &impl Serialize) -> Result<(), Gone> {
        self.0.send(text(request)).await.map_err(|_closed| Gone)
    }
}

fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("messages always serialise")
}

/// An answer that is under way, with the messages that come before it.
pub(super) struct Pending {
    messages: mpsc::Receiver<String>,
    answer: BoxFuture<'static, Response>,
}

enum Next {
    Message(String),
    Answer(Response),
    Silence,
}

impl Pending {
    /// Creates the answer with its outbox. Dropping it ends the work on it.
    pub(super) fn new(answer: impl FnOnce(Outbox) -> BoxFuture<'static, Response>) -> Self {
        let (outbox, messages) = mpsc::channel(MAX_WAITING_MESSAGES);
        Self { messages, answer: answer(Outbox(outbox)) }
    }

    /// Responds with the answer alone; or with a stream, from the first message before it on, or once it takes
    /// long. Dropping the stream drops the answer, as closing a request does.
    pub(super) async fn respond(mut self, patience: Patience) -> Response {
        let first = match self.next(patience.silence).await {
            Next::Answer(response) => return response,
            Next::Message(message) => event(message.into()),
            Next::Silence => sign(),
        };
        let rest = stream::unfold(Some(self), move |pending| async move {
            let mut pending = pending?;
            Some(match pending.next(patience.interval).await {
                Next::Answer(response) => (chunks(response), None),
                Next::Message(message) => (event(message.into()), Some(pending)),
                Next::Silence => (sign(), Some(pending)),
            })
        });
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static(STREAM));
        ([UNBUFFERED, kind], Body::from_stream(first.chain(rest.flatten()))).into_response()
    }

    /// Waits for the next message, or for the answer, which comes after all of them.
    async fn next(&mut self, silence: Duration) -> Next {
        let response = tokio::select! {
            biased;
            Some(message) = self.messages.recv() => return Next::Message(message),
            response = &mut self.answer => response,
            () = sleep(silence) => return Next::Silence,
        };
        match self.messages.try_recv() {
            // Sent by the last step of the answer.
            Ok(message) => {
                self.answer = Box::pin(ready(response));
                Next::Message(message)
            }
            Err(_empty) => Next::Answer(response),
        }
    }
}

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
    literal("event: message\ndata: ").chain(body.into_data_stream()).chain(literal("\n\n")).boxed()
}

/// Keep-alive: an SSE comment, which clients ignore.
fn sign() -> Chunks {
    literal(":\n\n").boxed()
}

fn literal(text: &'static str) -> impl stream::Stream<Item = Result<Bytes, axum::Error>> + Send {
    stream::once(ready(Ok(Bytes::from_static(text.as_bytes()))))
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::json;

    use super::*;
    use crate::json::Json;

    const PATIENT: Patience = Patience { silence: Duration::MAX, interval: Duration::MAX };

    async fn text(response: Response) -> String {
        let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("the body is whole");
        String::from_utf8(bytes.into()).expect("it is text")
    }

    fn pending<F: Future<Output = ()> + Send + 'static>(work: impl FnOnce(Outbox) -> F) -> Pending {
        Pending::new(|outbox| {
            let work = work(outbox);
            Box::pin(async move {
                work.await;
                Json(json!({ "id": 1 })).into_response()
            })
        })
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
        let response = pending(async |_outbox| {}).respond(PATIENT).await;

        assert_eq!(text(response).await, "{\"id\":1}");
    }

    #[tokio::test]
    async fn a_slow_answer_comes_after_signs_of_life() {
        let slow = pending(async |_outbox| sleep(Duration::from_millis(100)).await);

        let patience = Patience { silence: Duration::ZERO, interval: Duration::from_millis(1) };
        let response = slow.respond(patience).await;

        assert_eq!(response.status(), StatusCode::OK);
        let text = text(response).await;
        let signs = text.strip_suffix("event: message\ndata: {\"id\":1}\n\n").expect("the answer comes last");
        assert!(signs.len() >= 6 && signs.replace(":\n\n", "").is_empty(), "{text:?}");
    }

    #[tokio::test]
    async fn messages_come_before_the_answer_also_those_of_its_last_step() {
        for pause in [Duration::ZERO, Duration::from_millis(20)] {
            let told = pending(async move |outbox: Outbox| {
                outbox.notify(&1);
                if !pause.is_zero() {
                    sleep(pause).await;
                }
                outbox.notify(&2);
                outbox.request(&3).await.expect("it is read");
            });

            let response = told.respond(PATIENT).await;

            assert!(media_type::is(response.headers(), STREAM));
            let text = text(response).await;
            let told: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            assert_eq!(told, ["1", "2", "3", "{\"id\":1}"], "{pause:?}");
        }
    }

    #[tokio::test]
    async fn a_client_that_goes_away_ends_a_slow_answer() {
        let (held, gone) = tokio::sync::oneshot::channel::<()>();
        let slow = pending(async move |_outbox| {
            let _held = held;
            std::future::pending::<()>().await;
        });

        drop(slow.respond(Patience { silence: Duration::ZERO, ..PATIENT }).await);

        assert!(gone.await.is_err(), "it was dropped");
    }
}
