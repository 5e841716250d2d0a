//! Reads a response's body before its guest asks for it, as far as it is short.
//!
//! A guest may ask for many things at once and read the answers when all are there. Those that are short
//! are then read already, and in nobody's way: their requests are not in flight any more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::egress::{BoxError, OutgoingBody};

/// What is kept of one body for its guest, in bytes.
const ROOM: u32 = 64 << 10;

/// What was read, and the room it takes until the guest has it.
type Piece = Result<(Frame<Bytes>, OwnedSemaphorePermit), BoxError>;

/// A body that is read by somebody else.
pub(super) struct Ahead {
    pieces: UnboundedReceiver<Piece>,
}

/// Splits a body into what its guest reads and the work of reading it, which holds `in_flight` until the body
/// has ended or the guest wants no more of it.
pub(super) fn reading_ahead(
    body: OutgoingBody,
    in_flight: OwnedSemaphorePermit,
) -> (Ahead, impl Future<Output = ()> + Send) {
    let (sender, pieces) = unbounded_channel();
    let work = async move {
        let _until_the_end = in_flight;
        tokio::select! {
            () = read(body, &sender) => {}
            () = sender.closed() => {}
        }
    };
    (Ahead { pieces }, work)
}

async fn read(mut body: OutgoingBody, pieces: &UnboundedSender<Piece>) {
    let room = Arc::new(Semaphore::new(ROOM as usize));
    while let Some(frame) = body.frame().await {
        let piece = match frame {
            Ok(frame) => {
                let size = frame.data_ref().map_or(0, Bytes::len);
                let size = u32::try_from(size).unwrap_or(ROOM).min(ROOM);
                let taken = room.clone().acquire_many_owned(size).await;
                Ok((frame, taken.expect("nobody closes the room")))
            }
            Err(error) => Err(error),
        };
        if pieces.send(piece).is_err() {
            return;
        }
    }
}

impl Body for Ahead {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(|(frame, _room)| frame)))
    }
}
