//! Response body on its way to the connection. The memory share of its request is released once the
//! connection has accepted the whole body into its own buffer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use kitbag_web::{AnswerShare, UnderWay};

use super::MAX_BUFFERED_BYTES;

/// Body split into pieces of at most the connection's buffer size: otherwise the connection would read the
/// whole body at once, and the unsent part would not be counted.
pub(super) struct Sending {
    body: Body,
    /// Unsent remainder of a frame.
    rest: Bytes,
    /// Memory share of the user: counts frames of unknown size until they are sent.
    share: Option<AnswerShare>,
    _under_way: UnderWay,
}

impl Sending {
    pub(super) fn new(body: Body, share: Option<AnswerShare>, under_way: UnderWay) -> Self {
        Self { body, rest: Bytes::new(), share, _under_way: under_way }
    }

    fn next_piece(&mut self) -> Frame<Bytes> {
        let piece = self.rest.split_to(self.rest.len().min(MAX_BUFFERED_BYTES));
        Frame::data(piece)
    }
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.next_piece())));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            end => return Poll::Ready(end),
        };
        match frame.into_data() {
            Ok(data) if data.len() > MAX_BUFFERED_BYTES => {
                if let Some(share) = &mut self.share
                    && let Err(no_room) = share.count_frame(data.len())
                {
                    return Poll::Ready(Some(Err(axum::Error::new(no_room))));
                }
                self.rest = data;
                Poll::Ready(Some(Ok(self.next_piece())))
            }
            Ok(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            Err(trailers) => Poll::Ready(Some(Ok(trailers))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}
