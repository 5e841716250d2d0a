//! `kitbag audit`

mod anchors;
mod verification;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use kitbag_database::audit::{AuditRecord, CallRecord};
use serde_json::Value;
use tokio::signal::ctrl_c;
use tokio::time::sleep;
use url::form_urlencoded::Serializer;

use super::client::{Connection, Failed, Lines};
use super::error::{CliError, Exit};
use super::format::Format;
use super::output::report;
use super::terminal::{Text, note, text, try_print};
use anchors::Kept;

/// The longest pause between two attempts to reconnect.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Overlap when a stream resumes: processes may commit an entry this long after its timestamp.
const OVERLAP: SignedDuration = SignedDuration::from_mins(1);
/// Number of printed entry ids to remember, so that no entry is printed twice.
const MAX_KNOWN_IDS: usize = 10_000;

/// Show who did what: deploys, secrets, accounts, keys, sign-ins. For operators.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kitbag audit --since 7d\n  kitbag audit --act toolkit --toolkit weather\n  \
                  kitbag audit --user ana --act secret.set -o json\n  kitbag audit --follow -o jsonl\n  \
                  kitbag audit --calls --since 1d\n  kitbag audit --calls --follow -o jsonl\n  \
                  kitbag audit --verify\n  kitbag audit --verify --anchors /mnt/anchors/kitbag.jsonl\n\n\
                  No entry has a value of a secret, an argument or a result. docs/audit.md lists the acts."
)]
pub(super) struct Audit {
    /// Go on with each act as it is done, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Show calls instead of acts: who called which tool, with which account, and the outcome. The server writes them if its
    /// setting `record-callers` says so.
    #[arg(long, conflicts_with = "act")]
    calls: bool,
    /// With --calls: only calls with this outcome, such as succeeded.
    #[arg(long, requires = "calls")]
    outcome: Option<String>,
    /// With --calls: only entries after the one with this sequence number, such as the last that another system has received.
    #[arg(long, value_name = "SEQUENCE", requires = "calls")]
    after: Option<i64>,
    /// Only entries since: a duration such as 7d, or a time such as 2026-01-31T12:00:00Z.
    #[arg(long)]
    since: Option<String>,
    /// Only entries until: a duration before now, or a time.
    #[arg(long, conflicts_with = "follow")]
    until: Option<String>,
    /// Only this act, such as secret.set; or all of one kind, such as secret.
    #[arg(long)]
    act: Option<String>,
    /// Only acts of this user, and those that concern them.
    #[arg(long)]
    user: Option<String>,
    /// Only acts about this toolkit.
    #[arg(long, value_name = "ID")]
    toolkit: Option<String>,
    /// Only so many of the newest; by default 100, or all with --since.
    #[arg(long)]
    limit: Option<u32>,
    /// Only entries whose id (see --json), or with --calls whose sequence number, is smaller: those before it. With --limit, page by
    /// page.
    #[arg(long, value_name = "ID", conflicts_with = "follow")]
    before: Option<i64>,
    /// Let the server verify that no entry was changed or removed, and print the ends of its chains. Ends with 5 if
    /// something was.
    #[arg(long, conflicts_with_all = ["follow", "calls", "since", "until", "act", "user", "toolkit", "limit", "before"])]
    verify: bool,
    /// With --verify: compare the log with the anchors in this file, which the server has written or sent (setting
    /// audit-anchor); `-` reads standard input.
    #[arg(long, value_name = "FILE", requires = "verify")]
    anchors: Option<PathBuf>,
    /// With --anchors: the key that has signed them, as --verify has printed it before; may be repeated, since `vault rotate`
    /// changes it. By default the keys that the server says.
    // A thumbprint may begin with a hyphen.
    #[arg(long, value_name = "KEY", requires = "anchors", allow_hyphen_values = true)]
    anchor_key: Vec<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Reasons why printing stopped.
enum Stopped {
    /// The response is complete.
    Complete,
    /// The connection broke.
    Lost(CliError),
    /// Standard output is closed.
    Unread,
}

/// Printed entries: position and ids for resuming a stream.
#[derive(Default)]
struct Printed {
    /// Time of the newest entry.
    newest: Option<Timestamp>,
    ids: BTreeSet<i64>,
}

/// An entry to print.
struct PrintedEntry {
    /// Id of an act, or sequence number of a call.
    id: i64,
    at: Option<Timestamp>,
    shown: Text,
}

impl Audit {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if self.verify {
            let kept = self.anchors.as_deref().map(|path| Kept { path, keys: &self.anchor_key });
            return verification::run(self.connection, kept).await;
        }
        let format = Format::current();
        if self.follow && format == Format::Json {
            return Err(CliError::new("a log that is followed has no end, and so is no JSON document")
                .exit(Exit::Usage)
                .hint("--output jsonl prints a document for each entry"));
        }
        if self.follow {
            return tokio::select! {
                outcome = self.follow() => outcome,
                interrupted = ctrl_c() => interrupted.map_err(|error| CliError::new(error.to_string())),
            };
        }
        let mut printed = Printed::default();
        let mut lines = self.connection.clone().open().await?.lines(&self.path(&printed)).await?;
        if format == Format::Json {
            return print_all(&mut lines).await;
        }
        match self.print(&mut lines, &mut printed).await? {
            Stopped::Lost(error) => Err(error),
            Stopped::Complete | Stopped::Unread => Ok(()),
        }
    }

    /// Prints until standard output is closed; resumes a broken stream with an overlap of [`OVERLAP`].
    async fn follow(&self) -> Result<(), CliError> {
        let mut printed = Printed::default();
        let mut lines = self.connection.clone().open().await?.lines(&self.path(&printed)).await?;
        loop {
            match self.print(&mut lines, &mut printed).await? {
                Stopped::Unread => return Ok(()),
                Stopped::Complete => note!("the server has ended the stream; connecting again"),
                Stopped::Lost(error) => note!("{}; connecting again", error),
            }
            lines = self.connect_again(&printed).await?;
        }
    }

    async fn connect_again(&self, printed: &Printed) -> Result<Lines, CliError> {
        let mut pause = Duration::from_millis(250);
        loop {
            // A new connection: the server's address may have changed, and the token may have expired.
            match self.connection.clone().open().await?.lines(&self.path(printed)).await {
                Ok(lines) => return Ok(lines),
                Err(Failed::Refused(error)) => return Err(error),
                Err(Failed::Unreachable(error)) => {
                    note!("{}; trying again in {} s", error, pause.as_secs_f64());
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    fn path(&self, printed: &Printed) -> String {
        let mut query = Serializer::new(String::new());
        if self.follow {
            query.append_pair("follow", "true");
        }
        if let Some(last) = printed.ids.last().filter(|_| self.calls) {
            query.append_pair("after", &last.to_string());
        } else if let Some(newest) = printed.newest {
            let since = newest.checked_sub(OVERLAP).unwrap_or(Timestamp::MIN);
            query.append_pair("since", &since.to_string());
        } else {
            query.extend_pairs(self.since.iter().map(|since| ("since", since)));
            query.extend_pairs(self.limit.iter().map(|limit| ("limit", limit.to_string())));
            query.extend_pairs(self.after.iter().map(|after| ("after", after.to_string())));
        }
        let Self { until, act, user, toolkit, outcome, .. } = self;
        let filters =
            [("until", until), ("act", act), ("user", user), ("toolkit", toolkit), ("outcome", outcome)];
        query.extend_pairs(filters.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))));
        query.extend_pairs(self.before.iter().map(|before| ("before", before.to_string())));
        let path = if self.calls { "/audit/calls" } else { "/audit" };
        format!("{path}?{}", query.finish())
    }

    async fn print(&self, lines: &mut Lines, printed: &mut Printed) -> Result<Stopped, CliError> {
        loop {
            let line = match lines.next().await {
                // An empty line is a keep-alive.
                Ok(Some(line)) if line.is_empty() => continue,
                Ok(Some(line)) => line,
                Ok(None) => return Ok(Stopped::Complete),
                Err(error) => return Ok(Stopped::Lost(error)),
            };
            let entry = self.parsed(&line)?;
            // A stream of calls resumes after the last one.
            if !self.calls && printed.ids.contains(&entry.id) {
                continue;
            }
            let json = Text::json(&line);
            let shown = match Format::current() {
                Format::Text => &entry.shown,
                Format::Json | Format::Jsonl => &json,
            };
            // Flushes each entry before waiting for the next one.
            match try_print(shown) {
                Ok(()) => printed.note(&entry),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Stopped::Unread),
                Err(error) => return Err(CliError::new(format!("cannot print: {error}"))),
            }
        }
    }

    fn parsed(&self, line: &str) -> Result<PrintedEntry, CliError> {
        if self.calls {
            let record: CallRecord = serde_json::from_str(line).map_err(unreadable)?;
            return Ok(PrintedEntry {
                id: record.sequence,
                at: record.at.parse().ok(),
                shown: shown_call(&record),
            });
        }
        let record: AuditRecord = serde_json::from_str(line).map_err(unreadable)?;
        Ok(PrintedEntry { id: record.id, at: record.at.parse().ok(), shown: shown(&record) })
    }
}

impl Printed {
    fn note(&mut self, entry: &PrintedEntry) {
        self.newest = self.newest.max(entry.at);
        self.ids.insert(entry.id);
        if self.ids.len() > MAX_KNOWN_IDS {
            self.ids.pop_first();
        }
    }
}

/// Prints all entries as one document.
async fn print_all(lines: &mut Lines) -> Result<(), CliError> {
    let mut records: Vec<Value> = Vec::new();
    while let Some(line) = lines.next().await? {
        if !line.is_empty() {
            records.push(serde_json::from_str(&line).map_err(unreadable)?);
        }
    }
    report(&records, || {})
}

/// Formats an entry as one line: time, act, user, and subject.
fn shown(record: &AuditRecord) -> Text {
    let user = record.user.as_deref().unwrap_or("(server)");
    let mut line = text!("{}  {}  {}", record.at, record.act, user);
    let by = record.client.as_ref().map(|client| ("client", client));
    let by = by.or(record.key.as_ref().map(|key| ("key", key)));
    let rest = [
        by,
        record.toolkit.as_ref().map(|it| ("toolkit", it)),
        record.version.as_ref().map(|it| ("version", it)),
        record.name.as_ref().map(|it| ("name", it)),
        record.affected_user.as_ref().map(|it| ("affects", it)),
    ];
    for (label, value) in rest.into_iter().flatten() {
        line.push(&text!("  {}={}", label, value));
    }
    if record.outcome != "done" {
        line.push(&text!("  {}", record.outcome));
    }
    line
}

/// Formats a call as one line: time, tool, user, and details.
fn shown_call(record: &CallRecord) -> Text {
    let CallRecord { at, toolkit, tool, user, .. } = record;
    let mut line = text!("{}  {}__{}  {}", at, toolkit, tool, user);
    let texts = [("client", &record.client), ("key", &record.key), ("account", &record.account)];
    for (label, value) in texts.into_iter().filter_map(|(label, value)| Some((label, value.as_ref()?))) {
        line.push(&text!("  {}={}", label, value));
    }
    line.push(&text!("  version={}  {}", record.version, record.outcome));
    let numbers = [
        ("arguments", record.argument_bytes_at_most, "bytes"),
        ("result", record.result_bytes_at_most, "bytes"),
        ("took", record.duration_ms_at_most, "ms"),
    ];
    for (label, value, unit) in numbers {
        match value {
            Some(0) => line.push(&text!("  {}=0", label)),
            Some(number) => line.push(&text!("  {}<={} {}", label, number, unit)),
            None => {}
        }
    }
    line
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
fn unreadable(error: serde_json::Error) -> CliError {
    CliError::new(format!("the server's answer cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_one_line_whatever_its_texts_are() {
        let record = json!({
            "id": 7, "at": "2026-01-31T12:00:00.500Z", "act": "secret.set", "outcome": "done", "user": "ana",
            "client": "c\n1", "toolkit": "books", "name": "API_KEY", "chain": "file", "sequence": 3, "hash": "00",
        });

        let line = shown(&serde_json::from_value(record).expect("an entry"));

        assert_eq!(
            line.as_str(),
            "2026-01-31T12:00:00.500Z  secret.set  ana  client=c\\n1  toolkit=books  name=API_KEY"
        );
    }

    #[test]
    fn a_call_is_one_line_whatever_its_texts_are() {
        let record = json!({
            "sequence": 3, "at": "2026-01-31T12:00:00.000Z", "call": "p-1", "user": "ana", "key": "k1", "toolkit": "books",
            "version": "1.0.0", "tool": "find", "account": "ana@crm\n2026", "outcome": "succeeded",
            "argumentBytesAtMost": 65536, "resultBytesAtMost": 0, "chain": "calls", "hash": "00",
        });

        let line = shown_call(&serde_json::from_value(record).expect("an entry"));

        assert_eq!(
            line.as_str(),
            "2026-01-31T12:00:00.000Z  books__find  ana  key=k1  account=ana@crm\\n2026  version=1.0.0  succeeded  \
             arguments<=65536 bytes  result=0"
        );
    }
}
