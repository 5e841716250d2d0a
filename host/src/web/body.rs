//! Bodies that are read whole into memory, within bounds: of one, of one user's, and of all.

use axum::body::{Body, Bytes, HttpBody};
use futures::StreamExt;
use thiserror::Error;

use crate::shares::{Share, Shares};

/// Bytes of each body that are not counted: the number of connections bounds them.
const UNCOUNTED_BYTES: usize = 64 << 10;
/// Bytes of one user's bodies, at least.
const MIN_BYTES_PER_USER: usize = 68 << 20;
/// Users who may have that much at the same time.
const USERS_AT_A_TIME: usize = 8;

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Unread {
    /// It is longer than allowed. Where it says so itself, nothing was read.
    #[error("the body is too large")]
    TooLarge,
    /// The user's bodies, or all together, take too much memory at the moment.
    #[error("too much is being received")]
    NoRoom,
    /// The client went away, or was too slow.
    #[error("the request broke off")]
    BrokeOff,
}

/// Reads a body of `limit` bytes at most, which is small, and not counted.
pub(super) async fn read_small(body: Body, limit: usize) -> Result<Bytes, Unread> {
    read(body, limit, |_| true).await
}

/// The bodies of signed-in users that are in memory. A clone shares it.
#[derive(Clone)]
pub(super) struct Bodies(Shares);

/// A body in memory; dropped, it makes room.
pub(super) struct Held {
    pub(super) bytes: Bytes,
    /// Of what is counted.
    _room: Option<Share>,
}

impl Bodies {
    /// Bodies of which the largest has `largest` bytes: each user may have two of them.
    pub(super) fn of_at_most(largest: usize) -> Self {
        let per_user = MIN_BYTES_PER_USER.max(largest.saturating_mul(2));
        Self(Shares::new(per_user.saturating_mul(USERS_AT_A_TIME), per_user))
    }

    /// Reads a body of `user`, of `limit` bytes at most. Only what has arrived takes room.
    pub(super) async fn read(&self, user: &str, body: Body, limit: usize) -> Result<Held, Unread> {
        let mut room: Option<Share> = None;
        let charge = |more| {
            if let Some(room) = &mut room {
                return room.grow(more);
            }
            room = self.0.take(user, more);
            room.is_some()
        };
        let bytes = read(body, limit, charge).await?;
        Ok(Held { bytes, _room: room })
    }
}

/// Reads a body; `charge` is told of the memory that it takes beyond [`UNCOUNTED_BYTES`], and says whether there is room.
async fn read(body: Body, limit: usize, mut charge: impl FnMut(usize) -> bool) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let (mut bytes, mut pieces) = (Vec::new(), body.into_data_stream());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Unread::BrokeOff)?;
        let (before, length) = (bytes.capacity(), bytes.len() + piece.len());
        if length > limit {
            return Err(Unread::TooLarge);
        }
        if length > before {
            let capacity = before.saturating_mul(2).clamp(length, limit);
            let more = capacity.saturating_sub(UNCOUNTED_BYTES.max(before));
            if more > 0 && !charge(more) {
                return Err(Unread::NoRoom);
            }
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures::stream;

    use super::*;

    fn body(pieces: &[usize]) -> Body {
        let pieces: Vec<_> =
            pieces.iter().map(|length| Ok::<_, io::Error>(Bytes::from(vec![7; *length]))).collect();
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        assert_eq!(read_small(body(&[2, 3]), 5).await.as_deref(), Ok(&[7; 5][..]));
        assert_eq!(read_small(body(&[2, 4]), 5).await, Err(Unread::TooLarge));
        assert_eq!(read_small(Body::from("123456"), 5).await, Err(Unread::TooLarge));
    }

    #[tokio::test]
    async fn a_user_has_a_share_of_the_memory_and_small_bodies_need_none() {
        let bodies = Bodies(Shares::new(4 * UNCOUNTED_BYTES, 2 * UNCOUNTED_BYTES));
        let read = async |user: &str, length: usize| {
            bodies.read(user, body(&[UNCOUNTED_BYTES, length - UNCOUNTED_BYTES]), usize::MAX).await
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
        let bodies = Bodies(Shares::new(UNCOUNTED_BYTES / 2, UNCOUNTED_BYTES / 2));
        let read =
            async |limit: usize| bodies.read("ana", body(&[UNCOUNTED_BYTES, 1]), limit).await.map(drop);

        // One byte more makes room for as many again, unless the body cannot become as long.
        assert_eq!(read(2 * UNCOUNTED_BYTES).await, Err(Unread::NoRoom));
        assert_eq!(read(UNCOUNTED_BYTES + 1).await, Ok(()));
    }
}
