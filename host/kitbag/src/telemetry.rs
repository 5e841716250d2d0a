//! The log: one line per event on standard error.
//!
//! Invariant: trace and debug events of libraries are never logged. They contain the data that passes through
//! them: tokens, arguments, host names composed by a guest. So only Kitbag's own events can be more verbose
//! than `info`, and those of rmcp and hickory are never written: their warnings quote what clients send, and
//! the names that guests look up. `web/mcp` and `egress` log their failures.
//!
//! Invariant: an event is one line, whatever untrusted text it contains, and has no terminal escape
//! sequences.
//!
//! Invariant: a line has at most about 4 KiB. Longer texts, which are untrusted or quote something untrusted,
//! are cut, and the line says so.
//!
//! Invariant: a JSON line has fields of Kitbag's own spans only: in a traced call, the trace id.
//!
//! Invariant: a panic is logged by its location only, unless its message is a constant: a formatted message
//! may contain user data.

mod clip;
mod json;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;

use kitbag_base::visible;
use tracing::{Level, Metadata, error};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

use json::WithSpanFields;

/// Default filter for a server: `info` for Kitbag's own events, `warn` for libraries.
pub const SERVING: &str = "warn,kitbag=info";
/// Default filter for other commands: `warn`.
pub const QUIET: &str = "warn";

/// Starts logging: text if standard error is a terminal, JSON otherwise.
///
/// `KITBAG_LOG` takes a filter such as `debug` or `kitbag=debug,sqlx=info`; without it, `default` is used.
pub fn start(default: &str) {
    let filter = EnvFilter::try_from_env("KITBAG_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    // Without colours, so that every escape sequence can be escaped.
    let lines = fmt::layer().with_ansi(false);
    let lines = if io::stderr().is_terminal() {
        lines.with_writer(|| Lines { out: io::stderr(), shown: shown_text }).boxed()
    } else {
        lines
            .with_writer(|| Lines { out: io::stderr(), shown: shown_json })
            .json()
            .map_event_format(WithSpanFields::new)
            .boxed()
    };
    registry().with(filter).with(filter_fn(may_be_logged)).with(lines).init();
    std::panic::set_hook(Box::new(log_panic));
}

/// Escapes and clips events, and writes them, one line each. The subscriber passes each event in one `write`.
struct Lines<W> {
    out: W,
    shown: fn(&str) -> Cow<'_, str>,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        writeln!(self.out, "{}", (self.shown)(line))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn shown_text(event: &str) -> Cow<'_, str> {
    clip::text(visible::line(event))
}

fn shown_json(event: &str) -> Cow<'_, str> {
    clip::json(visible::json(event))
}

fn may_be_logged(event: &Metadata<'_>) -> bool {
    let target = event.target();
    let quotes_untrusted_text = ["rmcp", "hickory"].iter().any(|library| target.starts_with(library));
    target.starts_with("kitbag") || (*event.level() <= Level::INFO && !quotes_untrusted_text)
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let reason = panic.payload().downcast_ref::<&'static str>().unwrap_or(&"(its message is not logged)");
    error!(place, reason, "panic");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_cannot_be_turned_louder_than_info() {
        let written = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = written.clone();
        let lines = fmt::layer().with_writer(move || Sink(sink.clone()));
        let subscriber = registry().with(EnvFilter::new("trace")).with(filter_fn(may_be_logged)).with(lines);

        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "kitbag_net::egress", "ours");
            tracing::info!(target: "hyper", "theirs, quiet");
            tracing::debug!(target: "hyper", "theirs, loud");
            tracing::trace!(target: "wasmtime_wasi_http", "theirs, loud");
            tracing::error!(target: "rmcp", "theirs, loud with what a client sent");
            tracing::error!(target: "hickory_net::udp", "theirs, loud with what a guest asked for");
        });

        let written = String::from_utf8(written.lock().expect("no panic").clone()).expect("text");
        assert!(written.contains("ours") && written.contains("theirs, quiet"), "{written}");
        assert!(!written.contains("loud"), "{written}");
    }

    #[test]
    fn an_event_is_one_line_that_no_terminal_obeys() {
        for (show, shown) in [(shown_text as fn(&str) -> Cow<'_, str>, r"\u{1b}"), (shown_json, r"\u001b")] {
            let written = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            let sink = written.clone();
            let lines = fmt::layer().with_ansi(false);
            let writer = move || Lines { out: Sink(sink.clone()), shown: show };
            let lines = if shown.contains('{') {
                lines.with_writer(writer).boxed()
            } else {
                lines.with_writer(writer).json().flatten_event(true).boxed()
            };

            tracing::subscriber::with_default(registry().with(lines), || {
                tracing::info!(error = %"a\nb \u{202e}\u{1b}[2J\u{9b}", "twice");
                tracing::info!("twice");
            });

            let written = String::from_utf8(written.lock().expect("no panic").clone()).expect("text");
            assert_eq!(written.lines().filter(|line| line.contains("twice")).count(), 2, "{written}");
            assert_eq!(written.lines().count(), 2, "{written}");
            assert!(written.contains("202e") && written.contains("9b"), "{written}");
            assert!(!written.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{written}");
            assert!(!shown.contains('{') || written.contains("1b"), "{written}");
        }
    }

    struct Sink(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
