//! Report of an ingest: per-document outcomes as they arrive, and a summary.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::Stored;
use super::inputs::{LeftOut, Why};
use crate::cli::error::{CliError, Exit};
use crate::cli::format::Format;
use crate::cli::output::{print_line, report};
use crate::cli::progress::StepProgress;
use crate::cli::terminal::{Text, counted, note, say};

/// Progress and outcomes of one run.
pub(super) struct Report {
    progress: StepProgress,
    /// Number of documents to send, as far as known.
    total: u64,
    sent: u64,
    left_out: LeftOut,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    created: usize,
    updated: usize,
    unchanged: usize,
    /// Number of duplicates of another document of this run.
    same: usize,
    failed: usize,
    /// Number of documents that were still pending at the last status request.
    pending: usize,
    /// Stored documents by name and id, without duplicates.
    stored: Vec<(String, String)>,
    /// Stored documents by id: index in `stored`, and whether this run created or updated the document.
    by_id: HashMap<String, (usize, bool)>,
    /// Outcome of each document, for the JSON output.
    outcomes: Vec<Value>,
}

impl Report {
    pub(super) fn new() -> Self {
        Self {
            progress: StepProgress::new(),
            total: 0,
            sent: 0,
            left_out: LeftOut::default(),
            tally: Tally::default(),
        }
    }

    /// Sets the number of documents, and where skipped files are recorded.
    pub(super) fn begin(&mut self, total: u64, left_out: LeftOut) {
        (self.total, self.left_out) = (total, left_out);
    }

    /// Records the outcome of sending a document.
    pub(super) fn sent(&mut self, name: String, outcome: Result<Stored, String>) {
        match outcome {
            Ok(stored) => self.keep(name, &stored),
            Err(reason) => self.failed(&name, &reason),
        }
        self.sent += 1;
        self.progress.show("sending", self.sent, self.total.max(self.sent));
    }

    /// Stored documents by name and id.
    pub(super) fn stored(&self) -> Vec<(String, String)> {
        self.tally.stored.clone()
    }

    /// Records that a document could not be read or sent.
    pub(super) fn failed(&mut self, name: &str, reason: &str) {
        self.tally.failed += 1;
        if Format::current() == Format::Text {
            self.progress.suspend(|| note!("{}: {}", Text::prose(name), Text::prose(reason)));
        }
        self.tell(json!({ "input": name, "error": reason }));
    }

    /// Shows how many of the stored documents are still pending.
    pub(super) fn pending(&mut self, pending: usize) {
        self.tally.pending = pending;
        let total = self.tally.stored.len();
        self.progress.show("waiting until search finds them", (total - pending) as u64, total as u64);
    }

    fn keep(&mut self, name: String, stored: &Stored) {
        if let Some((place, is_changed)) = self.tally.by_id.get(&stored.id).copied() {
            // A duplicate only if this run wrote the first one: in a later run, both are unchanged.
            if is_changed {
                self.tally.same += 1;
                if Format::current() == Format::Text {
                    let name = Text::prose(&name);
                    let other = Text::prose(&self.tally.stored[place].0);
                    self.progress.suspend(|| note!("{}: has the same content as {}", name, other));
                }
            } else {
                self.tally.unchanged += 1;
            }
            self.tell(json!({ "input": name, "id": stored.id, "change": "UNCHANGED" }));
            return;
        }
        let known = (self.tally.stored.len(), stored.change != "UNCHANGED");
        self.tally.by_id.insert(stored.id.clone(), known);
        match stored.change.as_str() {
            "CREATED" => self.tally.created += 1,
            "UPDATED" => self.tally.updated += 1,
            _ => self.tally.unchanged += 1,
        }
        self.tell(json!({ "input": name, "id": stored.id, "change": stored.change }));
        self.tally.stored.push((name, stored.id.clone()));
    }

    /// Reports an outcome to a script: immediately (JSON Lines) or at the end (JSON).
    fn tell(&mut self, outcome: Value) {
        match Format::current() {
            Format::Text => {}
            Format::Json => self.tally.outcomes.push(outcome),
            Format::Jsonl => self.progress.suspend(|| print_line(&outcome)),
        }
    }

    /// Prints the summary of a completed run.
    pub(super) fn finish(&mut self) -> Result<(), CliError> {
        self.sum_up()?;
        match self.tally.failed {
            0 => Ok(()),
            failed => Err(CliError::new(format!("{} went wrong", counted(failed, "document"))).hint(
                "run the same command again once that is repaired: what is there already stays as it is",
            )),
        }
    }

    /// Prints the summary of an interrupted run.
    pub(super) fn interrupted(&mut self) -> Result<(), CliError> {
        self.sum_up()?;
        let sent = self.sent;
        let total = self.total.max(self.sent);
        Err(CliError::new(format!("interrupted: {sent} of {total} documents were sent"))
            .hint("run the same command again: what is there already stays as it is")
            .exit(Exit::Interrupted))
    }

    fn sum_up(&mut self) -> Result<(), CliError> {
        self.progress.clear();
        let Tally { created, updated, unchanged, same, pending, ref stored, ref outcomes, .. } = self.tally;
        match Format::current() {
            Format::Text => {
                if let [(_, id)] = stored.as_slice() {
                    say!("{}", id);
                }
                let count = counted(created + updated + unchanged + same, "document");
                match same {
                    0 => say!("{}: {} new, {} updated, {} unchanged.", count, created, updated, unchanged),
                    _ => say!(
                        "{}: {} new, {} updated, {} unchanged, {} the same as another.",
                        count,
                        created,
                        updated,
                        unchanged,
                        same
                    ),
                }
                tell_left_out(&self.left_out);
                if pending > 0 {
                    note!(
                        "still being read: {}; `kitbag documents list --state failed` shows what could not be",
                        pending
                    );
                }
            }
            Format::Json => report(outcomes, || {})?,
            Format::Jsonl => {}
        }
        Ok(())
    }
}

/// Prints which files of folders were skipped, and how to include them.
fn tell_left_out(left_out: &LeftOut) {
    let (kinds, shown) = listed(left_out.by(Why::UnknownKind));
    if !kinds.is_empty() {
        let extensions: Vec<_> = kinds.iter().filter_map(|(what, _)| what.strip_prefix('.')).collect();
        let advice = match extensions.as_slice() {
            [] => "name them to take them".to_owned(),
            extensions => format!("take them with --only {}", extensions.join(",")),
        };
        note!("not read, by kind: {}; {}", Text::prose(&shown), Text::prose(&advice));
    }
    let (kinds, shown) = listed(left_out.by(Why::Generated));
    if !kinds.is_empty() {
        note!("left out as generated: {}; take them with --no-ignore", Text::prose(&shown));
    }
}

/// Returns the most frequent kinds, and all kinds with their counts as a text that names these.
fn listed(mut kinds: Vec<(String, usize)>) -> (Vec<(String, usize)>, String) {
    const MAX_KINDS: usize = 8;

    // Stable: kinds of the same count stay in the order of their names.
    kinds.sort_by_key(|(_, count)| Reverse(*count));
    let others: usize = kinds.iter().skip(MAX_KINDS).map(|(_, count)| count).sum();
    let number = kinds.len().saturating_sub(MAX_KINDS);
    kinds.truncate(MAX_KINDS);
    let mut shown: Vec<_> = kinds.iter().map(|(what, count)| format!("{count} {what}")).collect();
    if number > 0 {
        shown.push(format!("{others} of {}", counted(number, "other kind")));
    }
    (kinds, shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_kinds_are_named_and_the_others_counted() {
        let kind = |number: usize| (format!(".k{number:02}"), number);

        let (named, text) = listed(vec![kind(1), kind(3), kind(2)]);
        assert_eq!((named.len(), text.as_str()), (3, "3 .k03, 2 .k02, 1 .k01"));

        let (named, text) = listed((1..=20).map(kind).collect());
        assert_eq!(named.len(), 8);
        assert!(text.starts_with("20 .k20, 19 .k19, ") && text.ends_with(", 78 of 12 other kinds"), "{text}");
    }
}
