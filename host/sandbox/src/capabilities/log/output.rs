//! Logs a guest's output line by line.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::observations::{Log, Source};

/// Standard output or standard error of a guest, of which each line becomes a log entry.
pub(crate) struct Output {
    log: Log,
    source: Source,
    /// The incomplete line while a stream is open. All streams share it: each with its own would take 64 KiB
    /// of the host's memory, and a guest may open thousands.
    lines: Mutex<Weak<Mutex<Lines>>>,
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.stream())
    }

    /// Writes synchronously: no output is lost with a task when the instance ends, and lines and the
    /// entries of `ctx.log` keep their order.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.stream())
    }
}

impl Output {
    pub(crate) fn new(log: Log, source: Source) -> Self {
        Self { log, source, lines: Mutex::default() }
    }

    fn stream(&self) -> Stream {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let open = lines.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Mutex::new(Lines::new(self.log.clone(), self.source)));
            *lines = Arc::downgrade(&new);
            new
        });
        Stream(open)
    }
}

/// An open stream of the output.
struct Stream(Arc<Mutex<Lines>>);

impl Stream {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Splits output into lines. An incomplete line is buffered until its line end, or until the last stream is
/// dropped with the instance.
#[derive(Debug)]
struct Lines {
    log: Log,
    source: Source,
    unfinished: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    /// Maximum length of a line. A longer one is omitted, and the log says so. It is not cut: redaction would
    /// not find a secret across the cut.
    const MAX_LINE_BYTES: usize = 64 << 10;

    fn new(log: Log, source: Source) -> Self {
        Self { log, source, unfinished: Vec::new(), is_too_long: false }
    }

    fn accept(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let line = piece.strip_suffix(b"\n");
            self.extend(line.unwrap_or(piece));
            if line.is_some() {
                self.emit();
            }
        }
    }

    fn extend(&mut self, piece: &[u8]) {
        self.is_too_long |= self.unfinished.len() + piece.len() > Self::MAX_LINE_BYTES;
        if self.is_too_long {
            self.unfinished.clear();
        } else {
            let needed = self.unfinished.len() + piece.len();
            if needed > self.unfinished.capacity() {
                let capacity = needed.max(2 * self.unfinished.capacity()).min(Self::MAX_LINE_BYTES);
                self.unfinished.reserve_exact(capacity - self.unfinished.len());
            }
            self.unfinished.extend_from_slice(piece);
        }
    }

    fn emit(&mut self) {
        if std::mem::take(&mut self.is_too_long) {
            self.log.append_line(self.source, "(a line longer than 64 KiB was left out)");
        } else {
            self.log.append_line(self.source, &String::from_utf8_lossy(&self.unfinished));
        }
        self.unfinished.clear();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.unfinished.is_empty() || self.is_too_long {
            self.emit();
        }
    }
}

impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.lines().accept(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 * 1024)
    }
}

#[async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.lines().accept(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observations::LogEntry;

    fn texts(entry: &LogEntry) -> Vec<&str> {
        entry.arguments.iter().map(|argument| argument.get()).collect()
    }

    #[test]
    fn output_becomes_lines_and_the_last_one_needs_no_end() {
        let log = Log::new(100_000);
        let mut lines = Lines::new(log.clone(), Source::Stderr);

        lines.accept(b"one\ntw");
        lines.accept(b"o\n\xff");
        drop(lines);

        let entries = log.take().entries;
        assert_eq!(entries.len(), 3);
        assert_eq!(texts(&entries[1]), ["\"two\""]);
        assert!(entries.iter().all(|entry| entry.source == Source::Stderr));
    }

    #[test]
    fn streams_share_their_incomplete_line_and_the_last_one_ends_it() {
        let log = Log::new(100_000);
        let output = Output::new(log.clone(), Source::Stdout);
        let streams: Vec<_> = (0..1000).map(|_| output.stream()).collect();

        for stream in &streams {
            stream.lines().accept(b"x");
        }
        drop(streams);
        output.stream().lines().accept(b"y");

        let entries = log.take().entries;
        let lengths: Vec<_> = entries.iter().map(|entry| texts(entry)[0].len()).collect();
        assert_eq!(lengths, [1000 + 2, 1 + 2]);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_never_cut() {
        let log = Log::new(1_000_000);
        let mut lines = Lines::new(log.clone(), Source::Stdout);

        for size in [Lines::MAX_LINE_BYTES, Lines::MAX_LINE_BYTES + 1] {
            lines.accept(&vec![b'x'; size - 10]);
            lines.accept(b"0123456789\n");
        }
        lines.accept(&vec![b'y'; Lines::MAX_LINE_BYTES]);
        lines.accept(b"y");
        drop(lines);

        let lengths: Vec<_> = log.take().entries.iter().map(|entry| texts(entry)[0].len()).collect();
        let left_out = "\"(a line longer than 64 KiB was left out)\"".len();
        assert_eq!(lengths, [Lines::MAX_LINE_BYTES + 2, left_out, left_out]);
    }
}
