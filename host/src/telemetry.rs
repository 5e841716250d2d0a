//! Where the log goes: one line an event on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// For a server: our own events, and only trouble from others.
pub const SERVING: &str = "warn,kitbag=info,rmcp=error";
/// For a command that has a person's attention already: only trouble.
pub const QUIET: &str = "warn,rmcp=error";

/// Starts logging: text for a person at a terminal, JSON for everything else.
/// `KITBAG_LOG` takes a filter such as `debug` or `kitbag=debug,rmcp=info`; without it, `default` is used.
pub fn start(default: &str) {
    let filter = EnvFilter::try_from_env("KITBAG_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        builder.finish().init();
    } else {
        builder.json().flatten_event(true).finish().init();
    }
}
