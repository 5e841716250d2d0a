//! A record as a given reader may see it.

use std::time::Duration;

use jiff::Timestamp;
use kitbag_sandbox::observations::Entry;
use serde::Serialize;

use super::operator_view::{AtMost, OperatorView};
use super::store::Row;

/// A record as a given reader may see it.
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

/// What every reader sees of a call.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// Ascends in the order in which calls ended.
    pub id: i64,
    /// Id of the toolkit.
    pub toolkit: &'a str,
    /// The tool's own name.
    pub tool: &'a str,
    /// The version that was called.
    pub version: &'a str,
    /// The calling user.
    pub user: &'a str,
    /// When the call arrived; to the second for others' calls.
    pub started_at: Timestamp,
    /// In microseconds.
    pub duration: Amount,
    /// How it ended.
    pub outcome: &'a str,
    /// The limit that ended it.
    pub limit: Option<&'a str>,
    /// Outbound requests.
    pub requests: Amount,
    /// Bytes of their bodies.
    pub bytes_out: Amount,
    /// Bytes of the bodies of their responses.
    pub bytes_in: Amount,
    /// Bytes of the result.
    pub result_size: Amount,
    /// Whether entries of the log were dropped.
    pub is_log_cut: bool,
}

/// A number of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Of an own call: the number.
    Exact(u64),
    /// Of another user's call: the upper bound of the range that it is in.
    UpTo(u64),
}

/// What only the calling user sees of a call.
#[derive(Debug)]
pub struct Content<'a> {
    /// The guest's log, oldest first.
    pub entries: Vec<Entry>,
    /// Details of the error that were not in the reply.
    pub detail: Option<&'a str>,
    /// The data of a `ToolError`: JSON.
    pub data: Option<&'a str>,
    /// Names the run of code that the call is part of.
    pub run: Option<&'a str>,
}

impl Logged {
    pub(super) fn seen_by(viewer: &str, row: Row) -> Self {
        if row.user_id == viewer { Self::Own(OwnRecord(row)) } else { Self::Other(row.into()) }
    }

    /// What every reader sees of the call.
    pub fn facts(&self) -> Facts<'_> {
        match self {
            Self::Own(OwnRecord(row)) => row.facts(),
            Self::Other(view) => view.facts(),
        }
    }

    /// The content; `None` of another user's call.
    pub fn content(&self) -> Option<Content<'_>> {
        let Self::Own(OwnRecord(row)) = self else { return None };
        // The column holds what `Row`'s writer made of entries.
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
            started_at: Timestamp::from_millisecond(self.started_at).unwrap_or_default(),
            duration: exact(self.duration),
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
    /// A range of milliseconds, in microseconds.
    pub(super) fn of_milliseconds(range: AtMost) -> Self {
        let duration = Duration::from_millis(range.get());
        Self::UpTo(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }

    /// The number, or the upper bound.
    pub fn get(self) -> u64 {
        match self {
            Self::Exact(number) | Self::UpTo(number) => number,
        }
    }
}
