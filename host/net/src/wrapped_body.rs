//! A body that a function reads: bodies that are counted, timed or recorded while they stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};

/// A body that is read with a function. Its end and its size are those of the inner body.
#[derive(Debug)]
pub struct WrappedBody<B, F> {
    inner: B,
    poll_frame: F,
}

impl<B, F, E> WrappedBody<B, F>
where
    B: Body,
    F: FnMut(Pin<&mut B>, &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, E>>>,
{
    /// Wraps a body. `poll_frame` is called in place of the inner body's function of the same name, and reads
    /// from the inner body.
    pub fn new(inner: B, poll_frame: F) -> Self {
        Self { inner, poll_frame }
    }
}

impl<B, F, E> Body for WrappedBody<B, F>
where
    B: Body + Unpin,
    F: FnMut(Pin<&mut B>, &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, E>>> + Unpin,
{
    type Data = B::Data;
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, E>>> {
        let Self { inner, poll_frame } = &mut *self;
        poll_frame(Pin::new(inner), context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
