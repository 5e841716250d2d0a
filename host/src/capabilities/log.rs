//! `kitbag:toolkit/log`: the invocation's log. Always granted.
//!
//! Entries of `ctx.log` and lines of standard output and error go to one bounded buffer, in the
//! order in which they were written. The buffer is handed out once, when the call has ended.
//! Entries are kept as JSON text, so that they take as much memory as the budget says.

mod json_text;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::AsyncWrite;
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

pub use json_text::{json_or_string, json_string};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "package kitbag:host-log; world host { import kitbag:toolkit/log@0.1.0; }",
        world: "kitbag:host-log/host",
        imports: { default: trappable },
    });
}

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `ctx.log`.
    Log,
    /// The guest's standard output.
    Stdout,
    /// The guest's standard error.
    Stderr,
}

/// One entry of an invocation's log.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Where it came from.
    pub source: Source,
    /// The arguments of `ctx.log`, or one string for a line of output: JSON text on one line.
    pub arguments: Vec<Box<RawValue>>,
}

/// What one invocation has written so far. Cloning shares the buffer.
#[derive(Clone, Debug)]
pub struct Log(Arc<Mutex<Buffer>>);

#[derive(Debug)]
struct Buffer {
    entries: Vec<Entry>,
    /// Bytes that may still be kept.
    budget: usize,
    dropped: usize,
}

/// All that an invocation has written.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// Entries, oldest first.
    pub entries: Vec<Entry>,
    /// How many more there were beyond the budget.
    pub dropped: usize,
}

/// What the buffer itself spends on an entry and on each argument, so that empty ones are not free.
const OVERHEAD: usize = 32;

impl Log {
    /// Makes an empty log that keeps at most `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self(Arc::new(Mutex::new(Buffer { entries: Vec::new(), budget, dropped: 0 })))
    }

    /// Takes out everything written so far.
    pub fn take(&self) -> Transcript {
        self.with(|buffer| Transcript {
            entries: std::mem::take(&mut buffer.entries),
            dropped: std::mem::take(&mut buffer.dropped),
        })
    }

    /// Appends a line that the host has to say to the author.
    pub fn note(&self, line: impl Into<String>) {
        self.append_line(Source::Log, &line.into());
    }

    /// Returns a stream for standard output or error whose lines become entries.
    pub fn stream(&self, source: Source) -> impl StdoutStream + 'static {
        Output { log: self.clone(), source }
    }

    fn append_line(&self, source: Source, line: &str) {
        self.append(source, cost([line.len()]), || vec![json_string(line)]);
    }

    /// `least` is what the entry costs unless its JSON is longer than what was written; `arguments`
    /// is only called when there is room for that.
    fn append(&self, source: Source, least: usize, arguments: impl FnOnce() -> Vec<Box<RawValue>>) {
        self.with(|buffer| {
            let arguments = (least <= buffer.budget).then(arguments).unwrap_or_default();
            let cost = least.max(cost(arguments.iter().map(|argument| argument.get().len())));
            match buffer.budget.checked_sub(cost) {
                Some(left) => {
                    buffer.budget = left;
                    buffer.entries.push(Entry { source, arguments });
                }
                None => buffer.dropped += 1,
            }
        });
    }

    fn with<R>(&self, act: impl FnOnce(&mut Buffer) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What an entry with arguments of these lengths takes from the budget.
fn cost(lengths: impl IntoIterator<Item = usize>) -> usize {
    lengths.into_iter().map(|length| length + OVERHEAD).sum::<usize>() + OVERHEAD
}

impl bindings::kitbag::toolkit::log::Host for Log {
    fn write(&mut self, arguments: Vec<String>) -> wasmtime::Result<()> {
        let least = cost(arguments.iter().map(String::len));
        self.append(Source::Log, least, || arguments.iter().map(|text| json_or_string(text)).collect());
        Ok(())
    }
}

/// Links the capability; `log` finds the invocation's log in the store's state.
pub fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    log: fn(&mut T) -> &mut Log,
) -> wasmtime::Result<()> {
    struct HasLog;
    impl HasData for HasLog {
        type Data<'a> = &'a mut Log;
    }
    bindings::kitbag::toolkit::log::add_to_linker::<T, HasLog>(linker, log)
}

struct Output {
    log: Log,
    source: Source,
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.lines())
    }

    /// Writes at once: nothing is left in a task that ends with the instance, and lines stand among
    /// the entries of `ctx.log` in the order in which they were written.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.lines())
    }
}

impl Output {
    fn lines(&self) -> Lines {
        Lines::new(self.log.clone(), self.source)
    }
}

/// Splits output into lines; what has no line end yet is kept until there is one, or until the
/// stream is dropped with the instance.
struct Lines {
    log: Log,
    source: Source,
    unfinished: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    /// A longer line is left out, and the log says so. It is not cut: a secret that stood across the
    /// cut would not be found.
    const LONGEST: usize = 64 << 10;

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
        self.is_too_long |= self.unfinished.len() + piece.len() > Self::LONGEST;
        if self.is_too_long {
            self.unfinished.clear();
        } else {
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

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.accept(&bytes);
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
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Lines {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.accept(bytes);
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
    use super::bindings::kitbag::toolkit::log::Host as _;
    use super::*;

    fn write(log: &mut Log, arguments: &[&str]) {
        log.write(arguments.iter().map(ToString::to_string).collect()).expect("logging never traps");
    }

    fn texts(entry: &Entry) -> Vec<&str> {
        entry.arguments.iter().map(|argument| argument.get()).collect()
    }

    #[test]
    fn arguments_are_json_and_anything_else_stays_a_string() {
        let mut log = Log::new(1024);

        write(&mut log, &["\"found\"", "3", "{\"a\":1}", "not json"]);

        let transcript = log.take();
        assert_eq!(texts(&transcript.entries[0]), ["\"found\"", "3", "{\"a\":1}", "\"not json\""]);
    }

    #[test]
    fn an_entry_costs_what_its_json_takes() {
        let mut log = Log::new(1024);

        write(&mut log, &["\u{1}".repeat(200).as_str()]);

        let transcript = log.take();
        assert_eq!((transcript.entries.len(), transcript.dropped), (0, 1), "each byte is six in JSON");
    }

    #[test]
    fn beyond_the_budget_entries_are_counted_and_not_kept() {
        let mut log = Log::new(160);

        for _ in 0..1000 {
            write(&mut log, &["\"0123456789\""]);
        }

        let transcript = log.take();
        assert_eq!((transcript.entries.len(), transcript.dropped), (2, 998));
    }

    #[test]
    fn empty_arguments_use_up_the_budget_too() {
        let mut log = Log::new(1024);

        write(&mut log, &[""; 10]);
        write(&mut log, &[""; 1000]);

        let transcript = log.take();
        assert_eq!((transcript.entries.len(), transcript.dropped), (1, 1));
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
    fn a_line_that_is_too_long_is_left_out_and_never_cut() {
        let log = Log::new(1_000_000);
        let mut lines = Lines::new(log.clone(), Source::Stdout);

        for size in [Lines::LONGEST, Lines::LONGEST + 1] {
            lines.accept(&vec![b'x'; size - 10]);
            lines.accept(b"0123456789\n");
        }
        lines.accept(&vec![b'y'; Lines::LONGEST]);
        lines.accept(b"y");
        drop(lines);

        let lengths: Vec<_> = log.take().entries.iter().map(|entry| texts(entry)[0].len()).collect();
        let left_out = "\"(a line longer than 64 KiB was left out)\"".len();
        assert_eq!(lengths, [Lines::LONGEST + 2, left_out, left_out]);
    }
}
