//! The record of a finished call.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kitbag_sandbox::observations::{Entry, Transcript, UsageSnapshot};
use serde_json::value::RawValue;

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct Record {
    /// Id of the toolkit.
    pub toolkit: String,
    /// The version that was called.
    pub version: String,
    /// The tool's own name.
    pub tool: String,
    /// The calling user.
    pub user: String,
    /// Names the run of code that the call is part of: its own record, and those of the calls that it made.
    pub run: Option<Arc<str>>,
    /// When the call arrived.
    pub started_at: Timestamp,
    /// From its arrival to its end.
    pub duration: Duration,
    /// How it ended.
    pub conclusion: Conclusion,
}

/// How a call ended. Its content (`detail`, `data`, the log entries) is for the calling user only.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// The kind of end.
    pub outcome: Outcome,
    /// The limit that ended it.
    pub limit: Option<String>,
    /// Details of the error that were not in the reply.
    pub detail: Option<String>,
    /// The data of a `ToolError`.
    pub data: Option<Box<RawValue>>,
    /// The guest's log.
    pub transcript: Transcript,
    /// Its outbound traffic.
    pub usage: UsageSnapshot,
    /// Bytes of the result.
    pub result_size: usize,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The handler returned a result.
    Succeeded,
    /// The handler returned an error for the model, or a result that does not match its schema.
    ToolError,
    /// The arguments did not match the schema.
    InvalidParams,
    /// The handler failed in any other way, or trapped.
    Failed,
    /// It reached its deadline.
    Deadline,
    /// It reached another limit.
    Limit,
    /// The client disconnected or cancelled.
    Cancelled,
    /// Too many calls were running.
    Busy,
    /// A limit of calls that the toolkit's audience has was reached.
    OverLimit,
    /// The toolkit reaches further than the user has agreed to.
    NeedsConsent,
    /// It asked its user a question, and runs again with the answer.
    Asked,
    /// The toolkit could not run: a server error.
    Unavailable,
}

impl From<Outcome> for Conclusion {
    /// Without details.
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            limit: None,
            detail: None,
            data: None,
            transcript: Transcript::default(),
            usage: UsageSnapshot::default(),
            result_size: 0,
        }
    }
}

impl Outcome {
    /// All outcomes, in the order of lists.
    pub const ALL: [Self; 12] = [
        Self::Succeeded,
        Self::ToolError,
        Self::InvalidParams,
        Self::Failed,
        Self::Deadline,
        Self::Limit,
        Self::Cancelled,
        Self::Busy,
        Self::OverLimit,
        Self::NeedsConsent,
        Self::Asked,
        Self::Unavailable,
    ];

    /// Those of calls that never ran.
    pub const REFUSED: [Self; 4] = [Self::Busy, Self::InvalidParams, Self::OverLimit, Self::NeedsConsent];

    /// Whether the call gave its client no result, although the client waited for it.
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Succeeded | Self::Cancelled | Self::Asked)
    }

    /// The name that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::ToolError => "tool-error",
            Self::InvalidParams => "invalid-params",
            Self::Failed => "failed",
            Self::Deadline => "deadline",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::Busy => "busy",
            Self::OverLimit => "over-limit",
            Self::NeedsConsent => "needs-consent",
            Self::Asked => "asked",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Approximate size of a record without content, in bytes.
const BASE_RECORD_BYTES: usize = 512;

impl Record {
    /// Approximate size of the record in bytes.
    pub(super) fn size(&self) -> usize {
        let Conclusion { detail, data, transcript, .. } = &self.conclusion;
        let arguments = transcript.entries.iter().flat_map(|entry| &entry.arguments);
        BASE_RECORD_BYTES
            + detail.as_ref().map_or(0, String::len)
            + data.as_ref().map_or(0, |data| data.get().len())
            + transcript.entries.len() * size_of::<Entry>()
            + arguments.map(|argument| size_of_val(argument) + argument.get().len()).sum::<usize>()
    }

    /// Drops the content, and keeps the fact that the call took place.
    pub(super) fn without_content(mut self) -> Self {
        let Conclusion { detail, data, transcript, .. } = &mut self.conclusion;
        (*detail, *data) = (None, None);
        transcript.dropped += transcript.entries.len();
        transcript.entries.clear();
        self
    }
}
