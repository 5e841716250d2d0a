//! What is known of one call once it has ended.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::observations::{Entry, Transcript, UsageSnapshot};

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
    /// When the call arrived.
    pub started_at: Timestamp,
    /// From then to its end.
    pub duration: Duration,
    /// What it came to.
    pub conclusion: Conclusion,
}

/// What a call came to. Content (`detail`, `data`, the entries) is for the calling user alone.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// In one word.
    pub outcome: Outcome,
    /// The limit that ended it.
    pub limit: Option<String>,
    /// What the caller was not told.
    pub detail: Option<String>,
    /// The data of a `ToolError`.
    pub data: Option<Box<RawValue>>,
    /// What the guest wrote.
    pub transcript: Transcript,
    /// What it sent and received.
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
    /// The arguments did not fit.
    InvalidParams,
    /// The handler failed in any other way, or trapped.
    Failed,
    /// It ran longer than it may.
    Deadline,
    /// It ran into another limit.
    Limit,
    /// The client went away.
    Cancelled,
    /// Too many calls were running.
    Busy,
    /// The toolkit could not run; our fault.
    Unavailable,
}

impl From<Outcome> for Conclusion {
    /// An end with nothing more to say.
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
    /// The word that is stored and shown.
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
            Self::Unavailable => "unavailable",
        }
    }
}

/// What a record without content takes, about.
const BARE: usize = 512;

impl Record {
    /// Bytes that the record takes, about.
    pub(super) fn size(&self) -> usize {
        let Conclusion { detail, data, transcript, .. } = &self.conclusion;
        let arguments = transcript.entries.iter().flat_map(|entry| &entry.arguments);
        BARE + detail.as_ref().map_or(0, String::len)
            + data.as_ref().map_or(0, |data| data.get().len())
            + transcript.entries.len() * size_of::<Entry>()
            + arguments.map(|argument| size_of_val(argument) + argument.get().len()).sum::<usize>()
    }

    /// Lets go of the content: that the call took place is still worth knowing.
    pub(super) fn without_content(mut self) -> Self {
        let Conclusion { detail, data, transcript, .. } = &mut self.conclusion;
        (*detail, *data) = (None, None);
        transcript.dropped += transcript.entries.len();
        transcript.entries.clear();
        self
    }
}
