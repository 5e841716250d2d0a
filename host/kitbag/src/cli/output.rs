//! Reports the result of a command.
//!
//! Invariant: with `--output json`, standard output is one JSON document or empty, and each line of standard
//! error is a JSON object. `docs/cli.md` documents the shapes.

use serde::Serialize;
use serde_json::Value;

use super::error::{CliError, Exit};
use super::format::Format;
use super::terminal::{Text, say};

/// Reports a result: calls `text`, which prints it for people, or prints `data` as JSON.
pub(super) fn report(data: &impl Serialize, text: impl FnOnce()) -> Result<(), CliError> {
    let unreadable = |error: serde_json::Error| CliError::new(error.to_string());
    match Format::current() {
        Format::Text => text(),
        Format::Json => say!("{}", Text::json(&serde_json::to_string_pretty(data).map_err(unreadable)?)),
        Format::Jsonl => match serde_json::to_value(data).map_err(unreadable)? {
            Value::Array(items) => items.iter().for_each(print_line),
            value => print_line(&value),
        },
    }
    Ok(())
}

/// Prints a JSON value on one line.
pub(super) fn print_line(value: &Value) {
    say!("{}", Text::json(&value.to_string()));
}

/// Rejects JSON output for a command that does not support it.
pub(super) fn expect_text(why: &str) -> Result<(), CliError> {
    if Format::current().is_json() {
        return Err(CliError::new(format!("there is no JSON of this: {why}"))
            .exit(Exit::Usage)
            .hint("leave --output (--json) out"));
    }
    Ok(())
}
