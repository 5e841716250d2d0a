//! Bodies that are read whole into memory, within a bound. Those of users count in their share (`share`).

use axum::body::{Body, Bytes, HttpBody};
use futures::StreamExt;
use thiserror::Error;

/// Bytes of each body that are not counted: the number of connections bounds them.
pub(super) const UNCOUNTED_BYTES: usize = 64 << 10;

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Unread {
    /// It is longer than allowed. Where it says so itself, nothing was read.
    #[error("the body is too large")]
    TooLarge,
    /// It has more JSON values than allowed, of which there are so many.
    #[error("the body has too many values")]
    TooManyValues(usize),
    /// What the user's requests hold, or those of all, is too much at the moment.
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

/// Reads a body; `charge` is told of the memory that it takes beyond [`UNCOUNTED_BYTES`], and says whether there is room.
pub(super) async fn read(
    body: Body,
    limit: usize,
    mut charge: impl FnMut(usize) -> bool,
) -> Result<Bytes, Unread> {
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
}
