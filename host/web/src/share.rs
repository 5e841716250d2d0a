//! Resource limits of each user's concurrent requests: requests in progress, and bytes of bodies, as sent and
//! as parsed, and of responses until they are written; and turns of work that grows with their data.
//!
//! Invariant: no handler of a user runs without a share ([`RequestShare`]), which begins when the request's
//! token has been verified (`authenticate`): the extractor of a `User` requires it in the request's extensions,
//! and `mcp` passes it on itself. It is released once the response has been handed to the connection, and the
//! handler has ended.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use kitbag_base::shares::{Share, Shares};
use kitbag_base::workers::Workers;
use kitbag_manifest::json::measure;
use thiserror::Error;
use tracing::error;

use super::body::{UNCOUNTED_BYTES, Unread, read};
use super::error::WebError;
use super::json::Unencoded;

/// Limit per user of requests in progress, besides calls of tools.
const MAX_REQUESTS_PER_USER: usize = 64;
/// Limit per user of page requests in progress. Half of them may follow a log; browsers open at most six
/// connections to a server.
const MAX_PAGES_PER_USER: usize = 32;
/// Minimum memory limit per user, in bytes.
const MIN_BYTES_PER_USER: usize = 96 << 20;
/// Number of users who may use their full limit at the same time, memory permitting.
const USERS_AT_A_TIME: usize = 8;
/// Memory of a parsed JSON value besides its text, in bytes, including temporary copies during conversion.
const BYTES_PER_VALUE: usize = 256;

/// Kind of a request, with a limit of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// API request of a program.
    Api,
    /// Page for a person.
    Page,
}

/// Resource limits of all users; clones share them.
#[derive(Clone, Debug)]
pub struct RequestShares {
    requests: Shares,
    pages: Shares,
    bytes: Shares,
    workers: Workers,
}

/// Resources of one request; clones share them.
#[derive(Clone, Debug)]
pub(super) struct RequestShare(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    user: Arc<str>,
    bytes: Shares,
    workers: Workers,
    /// Size of the answer in bytes, as far as it is known before it is encoded.
    expected: AtomicUsize,
    /// Reservations that are released together with the request.
    held: Mutex<Vec<Share>>,
}

/// Resources of a response, stored in its extensions until its body has been sent.
#[derive(Clone, Debug)]
pub struct AnswerShare {
    request: RequestShare,
    /// Memory of the frame that is being sent.
    frame: Option<Arc<Share>>,
    /// Whether the whole body was already counted.
    is_counted: bool,
}

/// A body in memory; releases its memory reservation when dropped.
#[derive(Debug)]
pub(super) struct ReadBody {
    pub(super) bytes: Bytes,
    _room: Option<Share>,
}

/// Error: responses that the user has not read yet take too much memory.
#[derive(Clone, Copy, Debug, Error)]
#[error("too many bytes of answers are being sent to this user")]
pub struct TooMuchUnread;

impl RequestShares {
    /// Creates the limits: `memory` bytes for all users; one user may use three times `largest`, the size of
    /// the largest request, and have `calls` calls of tools in progress. Large bodies are processed by `workers`.
    pub fn new(memory: usize, largest: usize, calls: usize, workers: Workers) -> Self {
        let per_user = MIN_BYTES_PER_USER.max(largest.saturating_mul(3));
        let total = per_user.saturating_mul(USERS_AT_A_TIME).min(memory).max(per_user);
        Self {
            requests: Shares::per_holder(MAX_REQUESTS_PER_USER.saturating_add(calls)),
            pages: Shares::per_holder(MAX_PAGES_PER_USER),
            bytes: Shares::new(total, per_user),
            workers,
        }
    }

    /// Memory limit of all users' requests, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Begins a request of `user`; 429 if too many are in progress.
    pub(super) fn begin(&self, purpose: Purpose, user: &str) -> Result<RequestShare, WebError> {
        let places = match purpose {
            Purpose::Api => &self.requests,
            Purpose::Page => &self.pages,
        };
        let place = places.take(user, 1).map_err(|_exceeded| {
            let detail = "Too many requests at a time. Wait for the answers of those in progress.";
            WebError::retryable(StatusCode::TOO_MANY_REQUESTS, detail)
        })?;
        let bytes = self.bytes.clone();
        let workers = self.workers.clone();
        let held = Mutex::new(vec![place]);
        let expected = AtomicUsize::new(0);
        Ok(RequestShare(Arc::new(Inner { user: user.into(), bytes, workers, expected, held })))
    }
}

impl RequestShare {
    /// Reads a body of at most `limit` bytes. Memory is reserved only for what has arrived.
    pub(super) async fn read(&self, body: Body, limit: usize) -> Result<ReadBody, Unread> {
        let mut room: Option<Share> = None;
        let charge = |more| {
            if let Some(room) = &mut room {
                return room.grow(more).is_ok();
            }
            room = self.bytes(more);
            room.is_some()
        };
        let bytes = read(body, limit, charge).await?;
        Ok(ReadBody { bytes, _room: room })
    }

    /// Runs `work`, which goes through `bytes` of the user's data: at once if that is little, otherwise off the
    /// threads that serve requests, in a turn of the user.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        self.0.workers.run(&self.0.user, bytes, work).await
    }

    /// Runs `work` off the threads that serve requests, in a turn of the user.
    pub(super) async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.0.workers.run_in_turn(&self.0.user, work).await
    }

    /// Reserves memory for the parsed form of a JSON text of at most `max_values` values.
    pub(super) async fn parsing(&self, json: &Bytes, max_values: usize) -> Result<Option<Share>, Unread> {
        let counted = json.clone();
        let values = self.work(json.len(), move || measure(&counted, max_values).values).await;
        if values > max_values {
            return Err(Unread::TooManyValues(max_values));
        }
        let bytes = json.len().saturating_add(values.saturating_mul(BYTES_PER_VALUE));
        if bytes <= UNCOUNTED_BYTES {
            return Ok(None);
        }
        self.bytes(bytes).map(Some).ok_or(Unread::NoRoom)
    }

    /// Reserves bytes of the user's memory limit.
    pub(super) fn bytes(&self, bytes: usize) -> Option<Share> {
        self.0.bytes.take(&self.0.user, bytes).ok()
    }

    /// Keeps another reservation until the response has been sent.
    pub(super) fn hold(&self, share: Share) {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner).push(share);
    }

    /// Notes that the answer has at least so many bytes, for whoever encodes it.
    pub(super) fn expect_answer(&self, bytes: usize) {
        self.0.expected.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Returns the size of the answer in bytes, as far as it is known.
    pub(super) fn expected_answer(&self) -> usize {
        self.0.expected.load(Ordering::Relaxed)
    }

    /// Encodes the value of a response that is not encoded yet. Without memory, replaces the response by an
    /// error; changes made by the request remain.
    pub(super) async fn encoded(&self, mut response: Response) -> Response {
        let Some(unencoded) = response.extensions_mut().remove::<Unencoded>() else { return response };
        // The value waits for its turn in memory.
        let Some(_room) = self.bytes(unencoded.bytes) else { return unread_answers().into_response() };
        *response.body_mut() = self.in_turn(move || unencoded.encode()).await.into();
        response
    }

    /// Keeps the share until the response has been sent, and counts its bytes if their number is known.
    /// Without memory, replaces the response by an error; changes made by the request remain.
    pub(super) async fn answer(self, response: Response) -> Response {
        let mut response = self.encoded(response).await;
        let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        if let Some(bytes) = bytes.filter(|bytes| *bytes > UNCOUNTED_BYTES) {
            match self.bytes(bytes) {
                Some(share) => self.hold(share),
                None => response = unread_answers().into_response(),
            }
        }
        let share = AnswerShare { request: self, frame: None, is_counted: bytes.is_some() };
        response.extensions_mut().insert(share);
        response
    }
}

impl AnswerShare {
    /// Counts a frame of a streamed body in place of the previous one. Fails if the user has no memory left.
    pub fn count_frame(&mut self, bytes: usize) -> Result<(), TooMuchUnread> {
        self.frame = None;
        if !self.is_counted {
            self.frame = Some(Arc::new(self.request.bytes(bytes).ok_or(TooMuchUnread)?));
        }
        Ok(())
    }
}

fn unread_answers() -> WebError {
    let detail = "The request was carried out, but its answer is too large for what is left of your share: earlier \
                  answers are not read yet. Read them, or close their connections, and ask again.";
    WebError::retryable(StatusCode::TOO_MANY_REQUESTS, detail)
}

impl<S: Sync> FromRequestParts<S> for RequestShare {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            error!(path = parts.uri.path(), "this route is for users, and its requests have no share");
            WebError::new(StatusCode::INTERNAL_SERVER_ERROR, "The server failed.").into_response()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures::stream;
    use kitbag_base::tasks::take_a_share;
    use serde::{Serialize, Serializer};
    use serde_json::{Value, json};

    use super::*;
    use crate::json::{Json, of_size};
    use crate::media_type;

    fn shares(total: usize, per_user: usize) -> RequestShares {
        RequestShares {
            requests: Shares::per_holder(8),
            pages: Shares::per_holder(1),
            bytes: Shares::new(total, per_user),
            workers: Workers::start("answers", take_a_share).expect("threads can be started"),
        }
    }

    fn begin(shares: &RequestShares, user: &str) -> RequestShare {
        shares.begin(Purpose::Api, user).expect("there is a place")
    }

    fn body(pieces: &[usize]) -> Body {
        let pieces: Vec<_> =
            pieces.iter().map(|length| Ok::<_, io::Error>(Bytes::from(vec![7; *length]))).collect();
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_user_has_a_share_of_the_memory_and_small_bodies_need_none() {
        let shares = shares(4 * UNCOUNTED_BYTES, 2 * UNCOUNTED_BYTES);
        let read = async |user: &str, length: usize| {
            let body = body(&[UNCOUNTED_BYTES, length - UNCOUNTED_BYTES]);
            begin(&shares, user).read(body, usize::MAX).await
        };

        let first = read("ana", 2 * UNCOUNTED_BYTES).await.expect("there is room");
        assert!(matches!(read("ana", 3 * UNCOUNTED_BYTES).await, Err(Unread::NoRoom)), "ana has her share");
        let second = read("ben", 3 * UNCOUNTED_BYTES).await.expect("there is room");
        assert!(matches!(read("eve", 3 * UNCOUNTED_BYTES).await, Err(Unread::NoRoom)), "nothing is left");
        assert!(read("eve", UNCOUNTED_BYTES).await.is_ok(), "a small body is in nobody's way");

        drop((first, second));
        assert!(read("eve", 3 * UNCOUNTED_BYTES).await.is_ok(), "what is over makes room");
    }

    #[tokio::test]
    async fn memory_that_is_reserved_for_more_of_a_body_counts_as_well() {
        let shares = shares(UNCOUNTED_BYTES / 2, UNCOUNTED_BYTES / 2);
        let read = async |limit: usize| {
            begin(&shares, "ana").read(body(&[UNCOUNTED_BYTES, 1]), limit).await.map(drop)
        };

        // One more byte doubles the reservation, unless the limit of the body is lower.
        assert_eq!(read(2 * UNCOUNTED_BYTES).await, Err(Unread::NoRoom));
        assert_eq!(read(UNCOUNTED_BYTES + 1).await, Ok(()));
    }

    #[tokio::test]
    async fn a_text_of_many_values_takes_many_times_its_bytes() {
        let shares = shares(usize::MAX, 200_000);
        let share = begin(&shares, "ana");
        let zeros = Bytes::from(format!("[{}0]", "0,".repeat(599)));

        let first = share.parsing(&zeros, 1000).await.expect("there is room");
        assert!(first.is_some() && matches!(share.parsing(&zeros, 1000).await, Err(Unread::NoRoom)));
        assert!(matches!(share.parsing(&zeros, 500).await, Err(Unread::TooManyValues(500))));
        drop(first);
        assert!(share.parsing(&zeros, 1000).await.is_ok());
        let small = Bytes::from_static(b"[0, 0]");
        assert!(matches!(share.parsing(&small, 1000).await, Ok(None)), "a small text needs no room");
    }

    #[tokio::test]
    async fn places_and_bytes_are_given_back_once_the_answer_has_been_sent() {
        let large = UNCOUNTED_BYTES + 1;
        let shares = shares(usize::MAX, large);
        let answered = async |shares: &RequestShares| {
            let share = shares.begin(Purpose::Page, "ana").expect("there is a place");
            share.answer(vec![0; large].into_response()).await
        };

        let first = answered(&shares).await;
        assert!(shares.begin(Purpose::Page, "ana").is_err() && shares.begin(Purpose::Page, "ben").is_ok());
        let refused = begin(&shares, "ana").answer(vec![0; large].into_response()).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let small = begin(&shares, "ana").answer(vec![0; 9].into_response()).await;
        assert_eq!(small.status(), StatusCode::OK);

        drop(first);
        assert_eq!(answered(&shares).await.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn frames_of_a_stream_are_counted_one_at_a_time() {
        let shares = shares(usize::MAX, 10);
        let response = begin(&shares, "ana").answer(body(&[1]).into_response()).await;
        let mut share = response.extensions().get::<AnswerShare>().expect("it has one").clone();

        assert!(share.count_frame(9).is_ok() && share.count_frame(10).is_ok());
        assert!(begin(&shares, "ana").bytes(1).is_none());
        assert!(share.count_frame(11).is_err());
    }

    /// Says on which thread it is encoded.
    struct Thread;

    impl Serialize for Thread {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_str(std::thread::current().name().unwrap_or_default())
        }
    }

    async fn read_json(response: Response) -> Value {
        let json = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("it is whole");
        serde_json::from_slice(&json).expect("it is JSON")
    }

    #[tokio::test]
    async fn large_answers_are_encoded_off_the_threads_of_requests_and_small_ones_at_once() {
        let shares = shares(usize::MAX, 4 * UNCOUNTED_BYTES);
        let here = json!(std::thread::current().name());
        let padding = |bytes: usize| "x".repeat(bytes);

        let small = Json((Thread, padding(9))).into_response();
        assert!(small.body().size_hint().exact() > Some(0), "it is encoded already");
        assert_eq!(read_json(begin(&shares, "ana").answer(small).await).await[0], here);
        for large in [
            Json((Thread, padding(UNCOUNTED_BYTES))).into_response(),
            of_size(UNCOUNTED_BYTES + 1, || (Thread, 0)),
        ] {
            let answered = begin(&shares, "ana").answer(large).await;
            assert!(media_type::is(answered.headers(), media_type::JSON));
            assert_eq!(read_json(answered).await[0], "answers");
        }
        let too_large = begin(&shares, "ana").answer(of_size(5 * UNCOUNTED_BYTES, || 0)).await;
        assert_eq!(too_large.status(), StatusCode::TOO_MANY_REQUESTS);
    }
}
