//! `kitbag toolkit logs`

mod text;

use std::io;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use tokio::signal::ctrl_c;
use tokio::time::sleep;
use url::form_urlencoded::Serializer;

use crate::cli::client::{Connection, Failed, Lines};
use crate::cli::error::{CliError, Exit};
use crate::cli::format::Format;
use crate::cli::output::report;
use crate::cli::terminal::{Text, note, try_print};

/// The longest pause between two attempts to reconnect.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Show what became of a toolkit's calls, and what it logged.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kitbag toolkit logs weather --since 10m\n  kitbag toolkit logs weather --since 2d --until 1d\n  \
                  kitbag toolkit logs weather --follow -o jsonl\n  \
                  kitbag toolkit logs weather --outcome any-failure --limit 10\n  \
                  kitbag toolkit logs weather --json --before 812\n\n\
                  Of your own calls you see everything; of the calls of others, if you see them at all, \
                  when they came and how they ended, with ranges in place of numbers."
)]
pub(in crate::cli) struct Logs {
    /// The toolkit's id.
    id: String,
    /// Go on with each call as it ends, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Only calls that ended since (of others: began since): a duration such as 10m, or a time such as
    /// 2026-01-31T12:00:00Z.
    #[arg(long)]
    since: Option<String>,
    /// Only calls that ended (of others: began) before this: a duration or a time, as for --since.
    #[arg(long, conflicts_with = "follow")]
    until: Option<String>,
    /// Only so many of the newest; by default 100, or all with --since.
    #[arg(long)]
    limit: Option<u32>,
    /// Only calls of this tool, by its own name.
    #[arg(long)]
    tool: Option<String>,
    /// Only calls that ended so: succeeded, tool-error, invalid-params, failed, deadline, limit, cancelled, busy,
    /// over-limit, needs-consent, arguments-refused, result-refused, asked, unavailable, interrupted; or any-failure for
    /// all but succeeded, cancelled and asked.
    #[arg(long)]
    outcome: Option<String>,
    /// Only calls whose id (see --json) is smaller: those before it. With --limit, page by page.
    #[arg(long, value_name = "ID", conflicts_with = "follow")]
    before: Option<i64>,
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

/// Position at which a stream resumes.
#[derive(Deserialize)]
struct Position {
    id: i64,
}

impl Logs {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if !self.follow {
            let mut lines = self.connection.clone().open().await?.lines(&self.path(None)).await?;
            if Format::current() == Format::Json {
                return print_all(&mut lines).await;
            }
            return match self.print(&mut lines, &mut None).await? {
                Stopped::Lost(error) => Err(error),
                Stopped::Complete | Stopped::Unread => Ok(()),
            };
        }
        if Format::current() == Format::Json {
            return Err(CliError::new("a log that is followed has no end, and so is no JSON document")
                .exit(Exit::Usage)
                .hint("--output jsonl prints a document for each call"));
        }
        tokio::select! {
            outcome = self.follow() => outcome,
            interrupted = ctrl_c() => interrupted.map_err(|error| CliError::new(error.to_string())),
        }
    }

    /// Prints until standard output is closed; resumes a broken stream at the last record.
    async fn follow(&self) -> Result<(), CliError> {
        let mut seen = None;
        let mut lines = self.connection.clone().open().await?.lines(&self.path(seen)).await?;
        loop {
            match self.print(&mut lines, &mut seen).await? {
                Stopped::Unread => return Ok(()),
                Stopped::Complete => note!("the server has ended the stream; connecting again"),
                Stopped::Lost(error) => note!("{}; connecting again", error),
            }
            lines = self.connect_again(seen).await?;
        }
    }

    async fn connect_again(&self, seen: Option<i64>) -> Result<Lines, CliError> {
        let mut pause = Duration::from_millis(250);
        loop {
            // A new connection: the server's address may have changed, and the token may have expired.
            match self.connection.clone().open().await?.lines(&self.path(seen)).await {
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

    /// Path and query of the request; `seen`: id of the last printed record.
    fn path(&self, seen: Option<i64>) -> String {
        let mut query = Serializer::new(String::new());
        if self.follow {
            query.append_pair("follow", "true");
        }
        if let Some(id) = seen {
            query.append_pair("after", &id.to_string());
        } else {
            query.extend_pairs(self.since.iter().map(|since| ("since", since)));
            query.extend_pairs(self.limit.iter().map(|limit| ("limit", limit.to_string())));
        }
        query.extend_pairs(self.until.iter().map(|until| ("until", until)));
        query.extend_pairs(self.tool.iter().map(|tool| ("tool", tool)));
        query.extend_pairs(self.outcome.iter().map(|outcome| ("outcome", outcome)));
        query.extend_pairs(self.before.iter().map(|before| ("before", before.to_string())));
        format!("/toolkits/{}/logs?{}", self.id, query.finish())
    }

    async fn print(&self, lines: &mut Lines, seen: &mut Option<i64>) -> Result<Stopped, CliError> {
        loop {
            let line = match lines.next().await {
                // An empty line is a keep-alive.
                Ok(Some(line)) if line.is_empty() => continue,
                Ok(Some(line)) => line,
                Ok(None) => return Ok(Stopped::Complete),
                Err(error) => return Ok(Stopped::Lost(error)),
            };
            let Position { id } = serde_json::from_str(&line).map_err(unreadable)?;
            let record = match Format::current() {
                Format::Text => text::record(&serde_json::from_str(&line).map_err(unreadable)?),
                Format::Json | Format::Jsonl => Text::json(&line),
            };
            // Flushes each record before waiting for the next one.
            match try_print(&record) {
                Ok(()) => *seen = Some(id),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Stopped::Unread),
                Err(error) => return Err(CliError::new(format!("cannot print: {error}"))),
            }
        }
    }
}

/// Prints all records as one document.
async fn print_all(lines: &mut Lines) -> Result<(), CliError> {
    let mut records: Vec<Value> = Vec::new();
    while let Some(line) = lines.next().await? {
        if !line.is_empty() {
            records.push(serde_json::from_str(&line).map_err(unreadable)?);
        }
    }
    report(&records, || {})
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
fn unreadable(error: serde_json::Error) -> CliError {
    CliError::new(format!("the server's answer cannot be read: {error}"))
}
