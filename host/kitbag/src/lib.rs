//! The program: its commands, its settings, and the server that it runs.
//!
//! # Modules
//!
//! - `cli`: one command per file; talks to a server over its public API
//! - `cli/terminal`: the only way from a command to standard output and standard error: escapes untrusted
//!   text
//! - `cli/output`: the format of a command's output, text or JSON, and its exit code (docs/cli.md)
//! - `cli/session`: the session that `kitbag login` stores and renews
//! - `settings`: the only reader of flags, environment and file
//! - `app`: builds and owns every part of a server
//! - `app/connections`: accepts connections, sets up TLS where there is a certificate, and decides which
//!   one to close when there are too many (docs/decisions/0013)
//! - `app/stopping`, `app/connections/end`: the order in which a server stops, so that the next process
//!   takes over without a refused connection (docs/decisions/0042)
//! - `telemetry`: log output
//! - `fuzzing`: entry points for the targets in `fuzz/`, of all crates

pub mod app;
pub mod cli;
#[doc(hidden)]
pub mod fuzzing;
pub mod settings;
pub mod telemetry;
