//! Calls that have ended and are not in the database yet, as lines of files in the data directory.
//!
//! A line is written before its call is answered, and without waiting for the disk: it outlives the process, not the
//! machine. The next process with that directory writes into the database what it finds. Two files take turns: one is
//! emptied once all of its calls are in the database, while the other one grows.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tracing::{error, warn};

use super::record::{BegunCall, Conclusion, Lost, Outcome, Record, Through};

/// Names of the files.
const FILES: [&str; 2] = ["unwritten-calls-0", "unwritten-calls-1"];

/// Number of a line, in the order in which lines are written.
pub(super) type LineNumber = u64;

/// The files. Only one process has them: the data directory is locked.
pub(super) struct Journal(Mutex<Lines>);

struct Lines {
    files: [File; 2],
    /// Numbers of the last line of each; `None` for an empty file.
    last: [Option<LineNumber>; 2],
    /// Index of the file that grows.
    growing: usize,
    next: LineNumber,
    is_failing: bool,
}

/// A line: the record of a call without content, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    id: Cow<'a, str>,
    toolkit: Cow<'a, str>,
    version: Cow<'a, str>,
    tool: Cow<'a, str>,
    user: Cow<'a, str>,
    #[serde(flatten)]
    through: Cow<'a, Through>,
    account: Cow<'a, Option<String>>,
    run: Option<Cow<'a, str>>,
    /// Milliseconds since 1970.
    started_at: i64,
    /// Microseconds.
    duration: u64,
    outcome: Cow<'a, str>,
    argument_size: Option<usize>,
    result_size: usize,
}

impl Journal {
    /// Opens the files in `folder`, and returns the calls that an earlier process has left in them. They stay there until
    /// [`clear`](Self::clear).
    pub(super) fn open(folder: &Path) -> io::Result<(Self, Vec<Record>)> {
        let open = |name: &str| {
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(folder.join(name))
        };
        let mut files = [open(FILES[0])?, open(FILES[1])?];
        let mut left = Vec::new();
        for file in &mut files {
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            left.extend(text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).filter_map(parsed));
        }
        let lines = Lines { files, last: [None; 2], growing: 0, next: 1, is_failing: false };
        Ok((Self(Mutex::new(lines)), left))
    }

    /// Whether a process has left calls in the files of `folder`.
    pub(super) fn is_there(folder: &Path) -> bool {
        FILES.iter().any(|name| folder.join(name).exists())
    }

    /// Removes the files of `folder`.
    pub(super) fn remove(folder: &Path) -> io::Result<()> {
        FILES.iter().try_for_each(|name| match std::fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    /// Empties the files.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.lock().files.iter().try_for_each(|file| file.set_len(0))
    }

    /// Writes the line of a call, and passes its number to `queue` before another line is written.
    pub(super) fn write(&self, record: &Record, queue: impl FnOnce(LineNumber)) {
        let mut line = serde_json::to_vec(&Line::from(record)).expect("texts and numbers are valid in JSON");
        line.push(b'\n');
        let mut lines = self.lock();
        let growing = lines.growing;
        let written = lines.files[growing].write_all(&line);
        let number = lines.next;
        lines.next += 1;
        lines.last[growing] = Some(number);
        let was_failing = std::mem::replace(&mut lines.is_failing, written.is_err());
        if let Err(cause) = written
            && !was_failing
        {
            error!(%cause, "calls cannot be noted in the data directory: a kill of this process now loses some of them");
        }
        queue(number);
    }

    /// Notes that all calls up to a line are in the database.
    pub(super) fn stored(&self, number: LineNumber) {
        let mut lines = self.lock();
        for _ in FILES {
            let resting = 1 - lines.growing;
            if lines.last[resting].is_some_and(|last| last > number) {
                return;
            }
            if lines.last[resting].take().is_some()
                && let Err(cause) = lines.files[resting].set_len(0)
            {
                // They are in the database: the next process finds that.
                warn!(%cause, "a file of noted calls was not emptied");
            }
            lines.growing = resting;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses a line; `None` for one that was not completed.
fn parsed(line: &[u8]) -> Option<Record> {
    let record = serde_json::from_slice::<Line<'_>>(line).ok().and_then(Line::record);
    if record.is_none() {
        warn!("a note of a call in the data directory cannot be read");
    }
    record
}

impl<'a> From<&'a Record> for Line<'a> {
    fn from(record: &'a Record) -> Self {
        let call = &record.call;
        Self {
            id: Cow::Borrowed(&call.id),
            toolkit: Cow::Borrowed(&call.toolkit),
            version: Cow::Borrowed(&call.version),
            tool: Cow::Borrowed(&call.tool),
            user: Cow::Borrowed(&call.user),
            through: Cow::Borrowed(&call.through),
            account: Cow::Borrowed(&call.account),
            run: call.run.as_deref().map(Cow::Borrowed),
            started_at: call.started_at.as_millisecond(),
            duration: u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX),
            outcome: Cow::Borrowed(record.conclusion.outcome.as_str()),
            argument_size: record.argument_size,
            result_size: record.conclusion.result_size,
        }
    }
}

impl Line<'_> {
    fn record(self) -> Option<Record> {
        let outcome = Outcome::of_name(&self.outcome)?;
        let call = BegunCall {
            id: self.id.into_owned(),
            toolkit: self.toolkit.into_owned(),
            version: self.version.into_owned(),
            tool: self.tool.into_owned(),
            user: self.user.into_owned(),
            through: self.through.into_owned(),
            account: self.account.into_owned(),
            run: self.run.map(|run| Arc::from(&*run)),
            started_at: Timestamp::from_millisecond(self.started_at).ok()?,
            lost: Lost::default(),
        };
        Some(Record {
            call: Arc::new(call),
            duration: Duration::from_micros(self.duration),
            argument_size: self.argument_size,
            conclusion: Conclusion { result_size: self.result_size, ..outcome.into() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocations::tests::record;

    fn left(folder: &Path) -> Vec<String> {
        let (_, left) = Journal::open(folder).expect("it opens");
        left.into_iter().map(|record| record.call.user.clone()).collect()
    }

    fn write(journal: &Journal, user: &str) -> LineNumber {
        let mut number = 0;
        journal.write(&record("a", user, "canary"), |it| number = it);
        number
    }

    #[test]
    fn what_is_not_stored_is_left_without_its_content() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let (journal, _) = Journal::open(folder.path()).expect("it opens");
        let [first, second] = ["ana", "ben"].map(|user| write(&journal, user));

        assert_eq!(left(folder.path()), ["ana", "ben"]);
        for name in FILES {
            let text = std::fs::read_to_string(folder.path().join(name)).expect("a file");
            assert!(!text.contains("canary"), "{text}");
        }
        journal.stored(first);
        write(&journal, "cleo");
        assert_eq!(left(folder.path()), ["ana", "ben", "cleo"], "until all of a file are stored");
        journal.stored(second);
        assert_eq!(left(folder.path()), ["cleo"]);
        let last = write(&journal, "dan");
        journal.stored(last);
        assert_eq!(left(folder.path()), [""; 0]);
        assert_eq!(write(&journal, "eve"), last + 1);
        assert_eq!(left(folder.path()), ["eve"]);
    }

    #[test]
    fn a_line_that_was_not_completed_is_none() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let (journal, _) = Journal::open(folder.path()).expect("it opens");
        write(&journal, "ana");
        let half = r#"{"id":"x","toolkit":"a""#;
        let file = OpenOptions::new().append(true).open(folder.path().join(FILES[0]));
        file.expect("a file").write_all(half.as_bytes()).expect("there is room");

        assert_eq!(left(folder.path()), ["ana"]);
    }
}
