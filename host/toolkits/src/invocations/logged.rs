//! A record of a call, restricted to what a given reader may see.

use std::time::Duration;

use jiff::Timestamp;
use kitbag_sandbox::observations::LogEntry;
use serde::Serialize;

use super::operator_view::{AtMost, OperatorView};
use super::reading::Scope;
use super::record::Through;
use super::store::Row;

/// A record of a call, restricted to what a given reader may see.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Logged {
    /// The reader's own call, in full.
    Own(OwnRecord),
    /// Another user's call.
    Other(OperatorView),
}

/// The full record of a call.
#[derive(Serialize)]
#[serde(transparent)]
pub struct OwnRecord(Row);

/// The part of a record that every reader may see.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Id of the record, ascending in the order of commits.
    pub id: i64,
    /// Id of the toolkit.
    pub toolkit: &'a str,
    /// The tool's own name.
    pub tool: &'a str,
    /// The called version.
    pub version: &'a str,
    /// The calling user.
    pub user: &'a str,
    /// What acted for the user, as far as the reader may know.
    pub through: &'a Through,
    /// The provider's name for the account that the toolkit could use.
    pub account: Option<&'a str>,
    /// Arrival time of the call; rounded down to the second for other users' calls.
    pub started_at: Timestamp,
    /// Duration in microseconds; `None` if nobody knows it.
    pub duration: Option<Amount>,
    /// Name of the outcome.
    pub outcome: &'a str,
    /// The limit that ended the call.
    pub limit: Option<&'a str>,
    /// Number of outbound requests.
    pub requests: Amount,
    /// Bytes of request bodies.
    pub bytes_out: Amount,
    /// Bytes of response bodies.
    pub bytes_in: Amount,
    /// Size of the result in bytes.
    pub result_size: Amount,
    /// Whether log entries were dropped.
    pub is_log_cut: bool,
}

/// A number in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// The exact number, of the reader's own call.
    Exact(u64),
    /// The upper bound of the number's range, of another user's call.
    UpTo(u64),
}

/// The part of a record that only the calling user may see.
#[derive(Debug)]
pub struct Content<'a> {
    /// The guest's log, oldest first.
    pub entries: Vec<LogEntry>,
    /// Details of the error that are not in the reply.
    pub detail: Option<&'a str>,
    /// Data of a `ToolError`, as JSON.
    pub data: Option<&'a str>,
    /// Id of the run of code that the call is part of.
    pub run: Option<&'a str>,
}

impl Logged {
    pub(super) fn seen_by(viewer: &str, scope: Scope, row: Row) -> Self {
        if row.user_id == viewer {
            return Self::Own(OwnRecord(row));
        }
        let mut view = OperatorView::from(row);
        if scope == Scope::Owned {
            view.hide_key();
        }
        Self::Other(view)
    }

    /// Returns the part of the record that every reader may see.
    pub fn facts(&self) -> Facts<'_> {
        match self {
            Self::Own(OwnRecord(row)) => row.facts(),
            Self::Other(view) => view.facts(),
        }
    }

    /// Returns the content; `None` for another user's call.
    pub fn content(&self) -> Option<Content<'_>> {
        let Self::Own(OwnRecord(row)) = self else { return None };
        // The column contains serialised entries.
        let entries = row.entries.as_deref().and_then(|json| serde_json::from_str(json).ok());
        Some(Content {
            entries: entries.unwrap_or_default(),
            detail: row.detail.as_deref(),
            data: row.data.as_deref(),
            run: row.run.as_deref(),
        })
    }
}

impl Row {
    fn facts(&self) -> Facts<'_> {
        // The columns are never negative.
        let exact = |number: i64| Amount::Exact(u64::try_from(number).unwrap_or_default());
        Facts {
            id: self.id,
            toolkit: &self.toolkit_id,
            tool: &self.tool,
            version: &self.version,
            user: &self.user_id,
            through: &self.through,
            account: self.account.as_deref(),
            started_at: Timestamp::from_millisecond(self.started_at).unwrap_or_default(),
            duration: self.known_duration().map(exact),
            outcome: &self.outcome,
            limit: self.limit_hit.as_deref(),
            requests: exact(self.requests),
            bytes_out: exact(self.bytes_out),
            bytes_in: exact(self.bytes_in),
            result_size: exact(self.result_size),
            is_log_cut: self.dropped > 0,
        }
    }
}

impl From<AtMost> for Amount {
    fn from(range: AtMost) -> Self {
        Self::UpTo(range.get())
    }
}

impl Amount {
    /// Converts a range of milliseconds to microseconds.
    pub(super) fn of_milliseconds(range: AtMost) -> Self {
        let duration = Duration::from_millis(range.get());
        Self::UpTo(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    /// Returns the number or the upper bound.
    pub fn get(self) -> u64 {
        match self {
            Self::Exact(number) | Self::UpTo(number) => number,
        }
    }
}
