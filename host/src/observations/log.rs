//! The log of one call, within a budget.
//!
//! Entries of `ctx.log` and lines of standard output and error go to one bounded buffer, in the
//! order in which they were written. The buffer is handed out once, when the call has ended.
//! Entries are kept as JSON text, so that they take as much memory as the budget says.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;

use super::{json_or_string, json_string};

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

impl Default for Log {
    /// A log that keeps nothing.
    fn default() -> Self {
        Self::new(0)
    }
}

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

    /// Appends what `ctx.log` was given: texts that may be JSON.
    pub(crate) fn write(&self, arguments: &[String]) {
        let least = cost(arguments.iter().map(String::len));
        self.append(Source::Log, least, || arguments.iter().map(|text| json_or_string(text)).collect());
    }

    /// Appends a line of output.
    pub(crate) fn append_line(&self, source: Source, line: &str) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn write(log: &Log, arguments: &[&str]) {
        log.write(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
    }

    fn texts(entry: &Entry) -> Vec<&str> {
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
