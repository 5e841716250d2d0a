//! The log of one call, within a budget.
//!
//! Entries of `ctx.log` and lines of standard output and error go to one bounded buffer, in the order in
//! which they were written. The buffer is read once, when the call has ended. Entries are stored as JSON
//! text, so that their memory matches the budget.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{json_or_string, json_string};

/// Origin of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogEntry {
    /// Origin of the entry.
    pub source: Source,
    /// The arguments of `ctx.log`, or one string for a line of output, as JSON text on one line.
    pub arguments: Vec<Box<RawValue>>,
}

/// The log of one invocation so far. Clones share the buffer.
#[derive(Clone, Debug)]
pub struct Log(Arc<Mutex<Buffer>>);

#[derive(Debug)]
struct Buffer {
    entries: Vec<LogEntry>,
    /// Remaining bytes.
    budget: usize,
    dropped: usize,
}

/// The complete log of an invocation.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// Entries, oldest first.
    pub entries: Vec<LogEntry>,
    /// Number of entries that were dropped because of the budget.
    pub dropped: usize,
}

/// Cost of an entry and of each argument in bytes, besides the text.
const OVERHEAD_BYTES: usize = 32;

impl Default for Log {
    /// Creates a log that stores nothing.
    fn default() -> Self {
        Self::new(0)
    }
}

impl Log {
    /// Creates an empty log of at most `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self(Arc::new(Mutex::new(Buffer { entries: Vec::new(), budget, dropped: 0 })))
    }

    /// Returns everything written so far, and empties the log.
    pub fn take(&self) -> Transcript {
        self.with(|buffer| Transcript {
            entries: std::mem::take(&mut buffer.entries),
            dropped: std::mem::take(&mut buffer.dropped),
        })
    }

    /// Appends a message of the host to the toolkit's author.
    pub fn note(&self, line: impl Into<String>) {
        self.append_line(Source::Log, &line.into());
    }

    /// Appends the arguments of `ctx.log`: texts that may be JSON.
    pub(crate) fn write(&self, arguments: &[String]) {
        let least = cost(arguments.iter().map(String::len));
        self.append(Source::Log, least, || arguments.iter().map(|text| json_or_string(text)).collect());
    }

    /// Appends a line of output.
    pub(crate) fn append_line(&self, source: Source, line: &str) {
        self.append(source, cost([line.len()]), || vec![json_string(line)]);
    }

    /// Appends an entry. `least` is its minimum cost: its JSON may be longer than the text. `arguments` is
    /// called only if the budget covers `least`.
    fn append(&self, source: Source, least: usize, arguments: impl FnOnce() -> Vec<Box<RawValue>>) {
        self.with(|buffer| {
            let arguments = (least <= buffer.budget).then(arguments).unwrap_or_default();
            let cost = least.max(cost(arguments.iter().map(|argument| argument.get().len())));
            match buffer.budget.checked_sub(cost) {
                Some(left) => {
                    buffer.budget = left;
                    buffer.entries.push(LogEntry { source, arguments });
                }
                None => buffer.dropped += 1,
            }
        });
    }

    fn with<R>(&self, act: impl FnOnce(&mut Buffer) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the cost of an entry with arguments of these lengths, in bytes.
fn cost(lengths: impl IntoIterator<Item = usize>) -> usize {
    lengths.into_iter().map(|length| length + OVERHEAD_BYTES).sum::<usize>() + OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(log: &Log, arguments: &[&str]) {
        log.write(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
    }

    fn texts(entry: &LogEntry) -> Vec<&str> {
        entry.arguments.iter().map(|argument| argument.get()).collect()
    }

    #[test]
    fn arguments_are_json_and_anything_else_stays_a_string() {
        let log = Log::new(1024);

        write(&log, &["\"found\"", "3", "{\"a\":1}", "not json"]);

        let transcript = log.take();
        assert_eq!(texts(&transcript.entries[0]), ["\"found\"", "3", "{\"a\":1}", "\"not json\""]);
    }

    #[test]
    fn an_entry_costs_what_its_json_takes() {
        let log = Log::new(1024);

        write(&log, &["\u{1}".repeat(200).as_str()]);

        let transcript = log.take();
        assert_eq!((transcript.entries.len(), transcript.dropped), (0, 1), "each byte is six in JSON");
    }

    #[test]
    fn beyond_the_budget_entries_are_counted_and_not_kept() {
        let log = Log::new(160);

        for _ in 0..1000 {
            write(&log, &["\"0123456789\""]);
        }

        let transcript = log.take();
        assert_eq!((transcript.entries.len(), transcript.dropped), (2, 998));
    }

    #[test]
    fn empty_arguments_use_up_the_budget_too() {
        let log = Log::new(1024);

        write(&log, &[""; 10]);
        write(&log, &[""; 1000]);

        let transcript = log.take();
        assert_eq!((transcript.entries.len(), transcript.dropped), (1, 1));
    }
}
