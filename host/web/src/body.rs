//! Request bodies that are read whole into memory, up to a limit. Bodies of users count towards their memory
//! share (`share`).

use axum::body::{Body, Bytes, HttpBody};
use futures::StreamExt;
use thiserror::Error;

/// Bytes of each body that are not counted: the number of connections bounds them.
pub(super) const UNCOUNTED_BYTES: usize = 64 << 10;

/// Reason why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Unread {
    /// Longer than allowed. If the size is declared, nothing was read.
    #[error("the body is too large")]
    TooLarge,
    /// More JSON values than allowed; the number is the limit.
    #[error("the body has too many values")]
    TooManyValues(usize),
    /// No memory left at the moment: the requests of this user, or of all users, use too much.
    #[error("too much is being received")]
    NoRoom,
    /// The client disconnected or was too slow.
    #[error("the request broke off")]
    BrokeOff,
}

/// Reads a small body of at most `limit` bytes, without counting its memory.
pub(super) async fn read_small(body: Body, limit: usize) -> Result<Bytes, Unread> {
    read(body, limit, |_| true).await
}

/// Reads a body of at most `limit` bytes. `charge` reserves memory beyond [`UNCOUNTED_BYTES`] and returns
/// `false` if there is none.
pub(super) async fn read(
    body: Body,
    limit: usize,
    mut charge: impl FnMut(usize) -> bool,
) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let mut bytes = Vec::new();
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Unread::BrokeOff)?;
        let before = bytes.capacity();
        let length = bytes.len() + piece.len();
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
