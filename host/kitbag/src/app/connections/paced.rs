//! A connection that fails if its peer reads too slowly: unsent responses are buffered in memory.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use kitbag_web::{Allowance, Pace};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose writes fail once its peer's allowance of waiting time is used up.
#[derive(Debug)]
pub(super) struct Paced<S> {
    stream: S,
    allowance: Allowance,
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, pace: Pace) -> Self {
        Self { stream, allowance: Allowance::new(pace) }
    }

    fn poll_in_time<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
        written: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(outcome) = outcome {
            self.allowance.progress(outcome.as_ref().map_or(0, written));
            return Poll::Ready(outcome);
        }
        ready!(self.allowance.poll_used_up(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.poll_in_time(context, outcome, |written| *written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.poll_in_time(context, outcome, |written| *written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.poll_in_time(context, outcome, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.poll_in_time(context, outcome, |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::join;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::sleep;

    use super::*;

    const PACE: Pace = Pace { pause: Duration::from_secs(1), rate: 64 << 10 };
    const MOMENT: Duration = Duration::from_millis(50);
    const NEVER: Duration = Duration::from_hours(1);

    /// Writes to a peer that reads `piece` bytes every `pause`; returns the error if the connection failed.
    async fn write_to_a_peer_that_reads(piece: usize, pause: Duration) -> Option<io::ErrorKind> {
        let (stream, mut peer) = duplex(4 << 10);
        let mut stream = Paced::new(stream, PACE);
        let reading = tokio::spawn(async move {
            let mut taken = vec![0; piece];
            loop {
                sleep(pause).await;
                if peer.read_exact(&mut taken).await.is_err() {
                    return;
                }
            }
        });
        let outcome = stream.write_all(&vec![0; 512 << 10]).await;
        reading.abort();
        outcome.err().map(|error| error.kind())
    }

    #[tokio::test]
    async fn a_peer_that_takes_nothing_or_drips_is_cut_off_and_a_slow_one_is_not() {
        let (silent, dripping, slow) = join!(
            write_to_a_peer_that_reads(1, NEVER),
            // A quarter of the rate, and four times as much.
            write_to_a_peer_that_reads(800, MOMENT),
            write_to_a_peer_that_reads(13_000, MOMENT),
        );

        assert_eq!(silent, Some(io::ErrorKind::TimedOut));
        assert_eq!(dripping, Some(io::ErrorKind::TimedOut));
        assert_eq!(slow, None);
    }
}
