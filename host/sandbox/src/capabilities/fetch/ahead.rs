//! Reads the beginning of a response body before the guest reads it.
//!
//! A guest may send many requests and read the responses once all have arrived. Short responses are then
//! fully buffered, so that their requests no longer count as in flight.
//!
//! Invariant: at most 64 KiB of a response are buffered, and no more requests of a call are in flight than
//! the settings allow; further ones wait.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::poll;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use kitbag_net::egress::{BoxError, Egress};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of bytes buffered for one body.
const MAX_BUFFERED_BYTES: usize = 64 << 10;
/// Maximum size of one buffered piece, in bytes.
const MAX_PIECE_BYTES: usize = 16 << 10;
/// Memory of a piece besides its data, in bytes.
const PIECE_OVERHEAD_BYTES: usize = 256;

/// A piece, and its buffer space, which is released when the guest has read it.
type Piece = Result<(Frame<Bytes>, OwnedSemaphorePermit), BoxError>;

/// The guest's end of a response body, which another task reads from the network.
pub(super) struct ReadAheadBody {
    pieces: UnboundedReceiver<Piece>,
}

/// Buffers the beginning of a body. Data that has already arrived, often the whole body, is buffered at once;
/// a task reads the rest. `in_flight` is released when the body has ended or the guest has dropped it.
pub(super) async fn read_ahead(
    body: impl Body<Data = Bytes, Error = BoxError> + Send + Unpin + 'static,
    in_flight: OwnedSemaphorePermit,
    egress: &Egress,
) -> ReadAheadBody {
    let (buffered, reading) = reading_ahead(body, in_flight);
    let mut reading = Box::pin(reading);
    if poll!(&mut reading).is_pending() {
        egress.spawn_on_runtime(reading);
    }
    buffered
}

/// Splits a body into the buffered body for the guest, and a future that reads it from the network.
fn reading_ahead(
    body: impl Body<Data = Bytes, Error = BoxError> + Send + Unpin + 'static,
    in_flight: OwnedSemaphorePermit,
) -> (ReadAheadBody, impl Future<Output = ()> + Send + 'static) {
    let (sender, pieces) = unbounded_channel();
    let work = async move {
        tokio::select! {
            () = read(body, &sender) => {}
            () = sender.closed() => {}
        }
        drop(in_flight);
    };
    (ReadAheadBody { pieces }, work)
}

/// Reads until the end, or until the first error, after which the data could be wrong.
async fn read(mut body: impl Body<Data = Bytes, Error = BoxError> + Unpin, pieces: &UnboundedSender<Piece>) {
    let room = Arc::new(Semaphore::new(MAX_BUFFERED_BYTES));
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => {
                // Fails if the guest has dropped the body.
                let _ = pieces.send(Err(error));
                return;
            }
        };
        for piece in in_pieces(frame) {
            let size = PIECE_OVERHEAD_BYTES + piece.data_ref().map_or(0, Bytes::len);
            let size = u32::try_from(size).expect("a piece is small");
            let taken = room.clone().acquire_many_owned(size).await.expect("the semaphore is never closed");
            if pieces.send(Ok((piece, taken))).is_err() {
                return;
            }
        }
    }
}

/// Splits and copies a frame: a frame of one byte could keep a whole connection buffer alive. This is the
/// only copy of a body between the connection's buffer and the guest's memory.
fn in_pieces(frame: Frame<Bytes>) -> Vec<Frame<Bytes>> {
    match frame.into_data() {
        Ok(data) => {
            data.chunks(MAX_PIECE_BYTES).map(|piece| Frame::data(Bytes::copy_from_slice(piece))).collect()
        }
        Err(trailers) => vec![trailers],
    }
}

impl Body for ReadAheadBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(|(frame, _room)| frame)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::stream;
    use http_body_util::StreamBody;

    use super::*;

    #[tokio::test]
    async fn what_is_read_ahead_is_bounded_however_small_its_pieces_are() {
        let came = Arc::new(AtomicUsize::new(0));
        let counted = came.clone();
        let letters = stream::repeat_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(Frame::data(Bytes::from_static(b"x")))
        });
        let place = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let (mut body, reading) = reading_ahead(StreamBody::new(letters).boxed_unsync(), place);
        let reading = tokio::spawn(reading);

        let unread = settled(&came).await;
        assert_eq!(
            unread,
            MAX_BUFFERED_BYTES / (PIECE_OVERHEAD_BYTES + 1) + 1,
            "the last one waits for room"
        );

        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "x");
        assert_eq!(settled(&came).await, unread + 1);
        drop(body);
        reading.await.unwrap();
    }

    /// Returns the count once it no longer changes.
    async fn settled(count: &AtomicUsize) -> usize {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        count.load(Ordering::Relaxed)
    }
}
