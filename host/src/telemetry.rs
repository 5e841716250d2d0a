//! Where the log goes: one line an event on standard error.
//!
//! Invariant: what libraries trace never gets into the log. They trace what passes through them:
//! tokens, arguments, host names that a guest has put together. So only our own events can be turned
//! louder than `info`, and none of rmcp's and hickory's is written at all: when they warn, they quote what
//! clients send, and the names that guests ask for. What they fail at is logged by `web/mcp` and `egress`.
//!
//! Invariant: a panic is logged by its place alone, unless its message is a constant: a message that
//! was put together may hold what the code was working on.

use std::io::IsTerminal;
use std::panic::PanicHookInfo;

use tracing::{Level, Metadata, error};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

/// For a server: our own events, and only trouble from others.
pub const SERVING: &str = "warn,kitbag=info";
/// For a command that has a person's attention already: only trouble.
pub const QUIET: &str = "warn";

/// Starts logging: text for a person at a terminal, JSON for everything else.
/// `KITBAG_LOG` takes a filter such as `debug` or `kitbag=debug,sqlx=info`; without it, `default` is used.
pub fn start(default: &str) {
    let filter = EnvFilter::try_from_env("KITBAG_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = if std::io::stderr().is_terminal() {
        lines.boxed()
    } else {
        lines.json().flatten_event(true).boxed()
    };
    registry().with(filter).with(filter_fn(is_fit_for_the_log)).with(lines).init();
    std::panic::set_hook(Box::new(log_panic));
}

fn is_fit_for_the_log(event: &Metadata<'_>) -> bool {
    let target = event.target();
    let quotes_strangers = ["rmcp", "hickory"].iter().any(|library| target.starts_with(library));
    target.starts_with("kitbag") || (*event.level() <= Level::INFO && !quotes_strangers)
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
        let subscriber =
            registry().with(EnvFilter::new("trace")).with(filter_fn(is_fit_for_the_log)).with(lines);

        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "kitbag::egress", "ours");
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
