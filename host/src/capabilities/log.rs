//! `kitbag:toolkit/log`: the invocation's log. Always granted.
//!
//! Entries of `ctx.log` and lines of standard output and error go to one bounded buffer, in the
//! order in which they were written. The buffer is handed out once, when the call has ended.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::io::AsyncWrite;
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Where it came from.
    pub source: Source,
    /// The arguments of `ctx.log`, or one string for a line of output.
    pub arguments: Vec<Value>,
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
#[derive(Clone, Debug, Default, PartialEq)]
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
    pub fn note(&self, line: String) {
        self.append(Source::Log, line.len(), || vec![Value::String(line)]);
    }

    /// Returns a stream for standard output or error whose lines become entries.
    pub fn stream(&self, source: Source) -> impl StdoutStream + 'static {
        Output { log: self.clone(), source }
    }

    /// `size` is what the entry costs; `arguments` is only called when it is kept.
    fn append(&self, source: Source, size: usize, arguments: impl FnOnce() -> Vec<Value>) {
        self.with(|buffer| match buffer.budget.checked_sub(size + OVERHEAD) {
            Some(left) => {
                buffer.budget = left;
                buffer.entries.push(Entry { source, arguments: arguments() });
            }
            None => buffer.dropped += 1,
        });
    }

    fn with<R>(&self, act: impl FnOnce(&mut Buffer) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl bindings::kitbag::toolkit::log::Host for Log {
    fn write(&mut self, arguments: Vec<String>) -> wasmtime::Result<()> {
        let size = arguments.iter().map(|argument| argument.len() + OVERHEAD).sum();
        self.append(Source::Log, size, || arguments.into_iter().map(parse_or_keep).collect());
        Ok(())
    }
}

/// An argument that is no JSON is kept as the string it is: a log line is never lost to its form.
fn parse_or_keep(argument: String) -> Value {
    serde_json::from_str(&argument).unwrap_or(Value::String(argument))
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
        Lines { log: self.log.clone(), source: self.source, unfinished: Vec::new() }
    }
}

/// Splits output into lines; what has no line end yet is kept until there is one, or until the
/// stream is dropped with the instance.
struct Lines {
    log: Log,
    source: Source,
    unfinished: Vec<u8>,
}

impl Lines {
    /// A line longer than this is cut into several entries.
    const LONGEST: usize = 8 * 1024;

    fn accept(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (Self::LONGEST - self.unfinished.len()).min(bytes.len());
            let end = bytes[..room].iter().position(|byte| *byte == b'\n');
            let (piece, rest) = bytes.split_at(end.unwrap_or(room));
            self.unfinished.extend_from_slice(piece);
            bytes = rest;
            if end.is_some() {
                bytes = &bytes[1..];
                self.emit();
            } else if self.unfinished.len() == Self::LONGEST {
                self.emit();
            }
        }
    }

    fn emit(&mut self) {
        let line = String::from_utf8_lossy(&self.unfinished).into_owned();
        self.unfinished.clear();
        self.log.append(self.source, line.len(), || vec![Value::String(line)]);
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.unfinished.is_empty() {
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
    use serde_json::json;

    use super::bindings::kitbag::toolkit::log::Host as _;
    use super::*;

    fn write(log: &mut Log, arguments: &[&str]) {
        log.write(arguments.iter().map(ToString::to_string).collect()).expect("logging never traps");
    }

    #[test]
    fn arguments_are_json_and_anything_else_stays_a_string() {
        let mut log = Log::new(1024);

        write(&mut log, &["\"found\"", "3", "{\"a\":1}", "not json"]);

        let transcript = log.take();
        assert_eq!(
            transcript.entries[0].arguments,
            [json!("found"), json!(3), json!({ "a": 1 }), json!("not json")]
        );
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
        let mut lines = Lines { log: log.clone(), source: Source::Stderr, unfinished: Vec::new() };

        lines.accept(b"one\ntw");
        lines.accept(b"o\n\xff");
        lines.accept(&vec![b'x'; Lines::LONGEST]);
        drop(lines);

        let entries = log.take().entries;
        let lengths: Vec<_> = entries.iter().map(|entry| entry.arguments[0].as_str().map(str::len)).collect();
        assert_eq!(entries[1].arguments, [json!("two")]);
        assert_eq!(lengths.len(), 4);
        assert!(entries.iter().all(|entry| entry.source == Source::Stderr));
    }
}
