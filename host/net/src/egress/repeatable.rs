//! A request that can be sent again: its body is recorded while it streams.

use std::mem;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderName};
use http::request::Parts;
use http::{Method, Request};
use http_body::Body;
use http_body_util::{BodyExt, Empty, Full};
use tokio::sync::watch;
use tokio::time::timeout;

use super::hygiene::content_length;
use super::{BoxBody, BoxError, EgressError};
use crate::wrapped_body::WrappedBody;

/// Largest body that is recorded, in bytes. A larger one can be sent only once.
const MAX_RECORDED_BYTES: usize = 1 << 20;

/// Time limit for the rest of a body before it is sent again: a server may respond before it has read the
/// whole request.
const REMAINING_BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// Headers that describe a body and are dropped with it (Fetch Standard, "request-body-header name").
const REQUEST_BODY_HEADERS: [HeaderName; 5] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_TYPE,
];

/// A request that may be sent more than once.
#[derive(Debug)]
pub struct Repeatable {
    pub(super) head: Parts,
    body: Content,
}

/// Reason why a body cannot be sent a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrepeatable {
    /// The body is larger than [`Repeatable::MAX_RECORDED_BYTES`].
    #[error("its body is larger than {} KiB and cannot be sent again", MAX_RECORDED_BYTES >> 10)]
    TooLarge,
    /// The body was not sent completely before the response arrived.
    #[error("its body had not been sent whole and cannot be sent again")]
    Unfinished,
    /// The body has trailers.
    #[error("its body had trailers and cannot be sent again")]
    Trailers,
}

#[derive(Debug)]
enum Content {
    Nothing,
    /// Body that was not sent yet, with its length in bytes if known.
    Unsent(Option<u64>, BoxBody),
    Sent(watch::Receiver<Record>),
}

impl Repeatable {
    /// Maximum size of a recorded body, in bytes.
    pub const MAX_RECORDED_BYTES: usize = MAX_RECORDED_BYTES;

    /// Prepares a request. A malformed `Content-Length` is an error.
    pub fn new<B>(request: Request<B>) -> Result<Self, EgressError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (head, body) = request.into_parts();
        let length = content_length(&head.headers)?;
        // The client sends no body of unknown length with these methods, and none of length 0.
        let bodiless =
            length == Some(0) || (length.is_none() && [Method::GET, Method::HEAD].contains(&head.method));
        let body = if bodiless || body.is_end_stream() {
            Content::Nothing
        } else {
            Content::Unsent(length.or(body.size_hint().exact()), body.map_err(Into::into).boxed_unsync())
        };
        Ok(Self { head, body })
    }

    /// Returns the head of the next request.
    pub fn head(&self) -> &Parts {
        &self.head
    }

    /// Returns the request to send now: the body streams the first time, and is replayed after that.
    /// Waits at most one second for the rest of a body that is still being sent.
    pub async fn next(&mut self) -> Result<Request<BoxBody>, Unrepeatable> {
        let body = match mem::replace(&mut self.body, Content::Nothing) {
            Content::Nothing => empty(),
            Content::Unsent(length, body) => {
                let (memory, record) = watch::channel(Record::default());
                self.body = Content::Sent(record);
                recorded(body, length, memory)
            }
            Content::Sent(mut record) => {
                // Both errors leave the record unfinished: a timeout, or a body that the client dropped.
                let _ = timeout(REMAINING_BODY_TIMEOUT, record.wait_for(Record::is_settled)).await;
                let body = record.borrow().whole()?;
                self.body = Content::Sent(record);
                Full::new(body).map_err(|never| match never {}).boxed_unsync()
            }
        };
        let mut request = Request::new(body);
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = self.head.uri.clone();
        *request.headers_mut() = self.head.headers.clone();
        Ok(request)
    }

    /// Drops the body and the headers that describe it.
    pub(super) fn drop_body(&mut self) {
        self.body = Content::Nothing;
        for name in REQUEST_BODY_HEADERS {
            self.head.headers.remove(name);
        }
    }
}

fn empty() -> BoxBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Recorded part of a body: the chunks sent so far.
#[derive(Debug, Default)]
struct Record {
    chunks: Vec<Bytes>,
    size: usize,
    end: Option<Result<(), Unrepeatable>>,
}

impl Record {
    fn keep(&mut self, chunk: &Bytes, length: Option<u64>) {
        self.size += chunk.len();
        if self.size > MAX_RECORDED_BYTES {
            self.chunks = Vec::new();
            self.end = Some(Err(Unrepeatable::TooLarge));
        } else {
            self.chunks.push(chunk.clone());
            // The client does not ask for the end of a body whose length it knows.
            if length == Some(self.size as u64) {
                self.end = Some(Ok(()));
            }
        }
    }

    /// Records the first end only: after trailers the stream ends normally.
    fn end(&mut self, end: Result<(), Unrepeatable>) {
        self.end.get_or_insert(end);
    }

    fn is_settled(&self) -> bool {
        self.end.is_some()
    }

    fn whole(&self) -> Result<Bytes, Unrepeatable> {
        self.end.unwrap_or(Err(Unrepeatable::Unfinished))?;
        let mut whole = BytesMut::with_capacity(self.size);
        self.chunks.iter().for_each(|chunk| whole.extend_from_slice(chunk));
        Ok(whole.freeze())
    }
}

/// Records a body of `length` bytes, if the HTTP client knows its length, while it streams.
fn recorded(body: BoxBody, length: Option<u64>, memory: watch::Sender<Record>) -> BoxBody {
    let streamed = WrappedBody::new(body, move |body, context| {
        let frame = ready!(body.poll_frame(context));
        match &frame {
            Some(Ok(frame)) => match frame.data_ref() {
                Some(chunk) => {
                    memory.send_modify(|record| record.keep(chunk, length));
                    let size = memory.borrow().size as u64;
                    if length.is_some_and(|length| size > length) {
                        return Poll::Ready(Some(Err("the body is longer than its Content-Length".into())));
                    }
                }
                None => memory.send_modify(|record| record.end(Err(Unrepeatable::Trailers))),
            },
            Some(Err(_)) => memory.send_modify(|record| record.end(Err(Unrepeatable::Unfinished))),
            None => memory.send_modify(|record| record.end(Ok(()))),
        }
        Poll::Ready(frame)
    });
    streamed.boxed_unsync()
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http::HeaderMap;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    type Frames = Vec<Frame<Bytes>>;

    fn post(frames: Frames) -> Repeatable {
        let frames = stream::iter(frames.into_iter().map(Ok::<_, BoxError>));
        Repeatable::new(Request::post("http://api.example/").body(StreamBody::new(frames)).unwrap()).unwrap()
    }

    fn data(size: usize) -> Frame<Bytes> {
        Frame::data(Bytes::from(vec![b'x'; size]))
    }

    async fn sent(request: &mut Repeatable) -> Bytes {
        request.next().await.unwrap().into_body().collect().await.unwrap().to_bytes()
    }

    #[tokio::test]
    async fn a_body_is_repeated_byte_for_byte() {
        let mut request = post(vec![data(3), Frame::data("yz".into())]);

        for _ in 0..3 {
            assert_eq!(sent(&mut request).await, "xxxyz");
        }
    }

    #[tokio::test]
    async fn a_body_of_known_length_is_remembered_although_nobody_asks_for_its_end() {
        let mut request =
            Repeatable::new(Request::post("http://api.example/").body(Full::from("body")).unwrap());
        let request = request.as_mut().unwrap();

        let mut body = request.next().await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        drop(body);

        assert_eq!(sent(request).await, "body");
    }

    #[tokio::test]
    async fn a_body_is_remembered_up_to_a_mebibyte() {
        let mut whole = post(vec![data(MAX_RECORDED_BYTES - 1), data(1)]);
        let mut larger = post(vec![data(MAX_RECORDED_BYTES), data(1)]);

        assert_eq!(
            (sent(&mut whole).await.len(), sent(&mut whole).await.len()),
            (MAX_RECORDED_BYTES, MAX_RECORDED_BYTES)
        );
        assert_eq!(sent(&mut larger).await.len(), MAX_RECORDED_BYTES + 1);
        assert_eq!(larger.next().await.unwrap_err(), Unrepeatable::TooLarge);
    }

    #[tokio::test]
    async fn a_body_with_trailers_is_sent_once() {
        let mut request = post(vec![data(1), Frame::trailers(HeaderMap::new())]);

        sent(&mut request).await;

        assert_eq!(request.next().await.unwrap_err(), Unrepeatable::Trailers);
    }

    #[tokio::test]
    async fn a_body_that_was_given_up_is_not_repeated() {
        let mut request = post(vec![data(1), data(1)]);

        let mut body = request.next().await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        drop(body);

        assert_eq!(request.next().await.unwrap_err(), Unrepeatable::Unfinished);
    }

    #[tokio::test]
    async fn the_rest_of_a_body_is_waited_for() {
        let (chunks, arriving) = tokio::sync::mpsc::unbounded_channel();
        let stream = stream::unfold(arriving, async |mut arriving| {
            let chunk: Bytes = arriving.recv().await?;
            Some((Ok::<_, BoxError>(Frame::data(chunk)), arriving))
        });
        let request = Request::post("http://api.example/").body(StreamBody::new(Box::pin(stream))).unwrap();
        let mut request = Repeatable::new(request).unwrap();
        let body = request.next().await.unwrap().into_body();

        let sending = tokio::spawn(body.collect());
        let repeated = tokio::spawn(async move { sent(&mut request).await });
        tokio::task::yield_now().await;
        chunks.send("late".into()).unwrap();
        drop(chunks);

        assert_eq!(repeated.await.unwrap(), "late");
        sending.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_declared_length_ends_the_record_and_more_bytes_fail() {
        let request = |length: u64| {
            let mut request = post(vec![data(3), data(1)]);
            let Content::Unsent(declared, _) = &mut request.body else { panic!("it was not sent yet") };
            *declared = Some(length);
            request
        };
        let mut exact = request(3);
        let mut longer = request(2);

        let mut body = exact.next().await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        drop(body);

        assert_eq!(sent(&mut exact).await, "xxx");
        assert!(longer.next().await.unwrap().into_body().collect().await.is_err());
    }
}
