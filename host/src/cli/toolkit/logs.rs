//! `kitbag toolkit logs`

mod text;

use std::io;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use tokio::signal::ctrl_c;
use tokio::time::sleep;
use url::form_urlencoded::Serializer;

use crate::cli::CliError;
use crate::cli::client::{Connection, Failed, Lines};
use crate::cli::terminal::{Text, note, try_print};

/// How long to wait before the second and every further try to connect again, at most.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Show what became of a toolkit's calls, and what it logged.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kitbag toolkit logs weather --since 10m\n  kitbag toolkit logs weather --follow --json\n\n\
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
    /// Only so many of the newest; by default 100, or all with --since.
    #[arg(long)]
    limit: Option<u32>,
    /// Print JSON, one object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// How printing came to its end.
enum Stopped {
    /// The server had no more to say.
    Complete,
    /// The connection broke.
    Lost(CliError),
    /// Nobody reads what is printed.
    Unread,
}

/// Where a stream is taken up again.
#[derive(Deserialize)]
struct Position {
    id: i64,
}

impl Logs {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if !self.follow {
            let mut lines = self.connection.clone().open().await?.lines(&self.path(None)).await?;
            return match self.print(&mut lines, &mut None).await? {
                Stopped::Lost(error) => Err(error),
                Stopped::Complete | Stopped::Unread => Ok(()),
            };
        }
        tokio::select! {
            outcome = self.follow() => outcome,
            interrupted = ctrl_c() => interrupted.map_err(|error| CliError::new(error.to_string())),
        }
    }

    /// Prints until nobody reads it any more; takes a broken stream up again where it broke.
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
            // Opened anew: another address may be announced by now, and a token may have run out.
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

    /// The request; `seen` is the last record that was printed.
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
        format!("/toolkits/{}/logs?{}", self.id, query.finish())
    }

    async fn print(&self, lines: &mut Lines, seen: &mut Option<i64>) -> Result<Stopped, CliError> {
        loop {
            let line = match lines.next().await {
                // An empty line says that the server is there.
                Ok(Some(line)) if line.is_empty() => continue,
                Ok(Some(line)) => line,
                Ok(None) => return Ok(Stopped::Complete),
                Err(error) => return Ok(Stopped::Lost(error)),
            };
            let unreadable = |error| CliError::new(format!("the server's answer cannot be read: {error}"));
            let Position { id } = serde_json::from_str(&line).map_err(unreadable)?;
            let record = if self.json {
                Text::json(&line)
            } else {
                text::record(&serde_json::from_str(&line).map_err(unreadable)?)
            };
            // Each record is out before the next one is waited for, wherever standard output goes.
            match try_print(&record) {
                Ok(()) => *seen = Some(id),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Stopped::Unread),
                Err(error) => return Err(CliError::new(format!("cannot print: {error}"))),
            }
        }
    }
}
