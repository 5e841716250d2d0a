//! The record of a finished call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::FromRow;
use kitbag_identity::Caller;
use kitbag_sandbox::observations::{LogEntry, Transcript, UsageSnapshot};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A call that has begun.
#[derive(Clone, Debug)]
pub struct BegunCall {
    /// Id of the call among those that run.
    pub id: String,
    /// Id of the toolkit.
    pub toolkit: String,
    /// The called version.
    pub version: String,
    /// The tool's own name.
    pub tool: String,
    /// The calling user.
    pub user: String,
    /// What acted for the user.
    pub through: Through,
    /// The provider's name for the account that the toolkit can use.
    pub account: Option<String>,
    /// Id of the run of code, in its own record and in the records of the calls that it made.
    pub run: Option<Arc<str>>,
    /// Arrival time of the call.
    pub started_at: Timestamp,
    /// Whether the call has ended, and will have no record.
    pub lost: Lost,
}

/// What acted for a user: an OAuth client, or a program with a key; neither in a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromRow, Serialize, Deserialize)]
pub struct Through {
    /// Id of the OAuth client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Id of the key.
    #[serde(rename = "key", default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Name that its user gave the key.
    #[serde(rename = "keyName", default, skip_serializing_if = "Option::is_none")]
    pub key_name: Option<String>,
}

/// Mark of a call that has ended without a record. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Lost(Arc<AtomicBool>);

/// The record of one call of a tool.
#[derive(Clone, Debug)]
pub struct Record {
    /// The call.
    pub call: Arc<BegunCall>,
    /// Time from the arrival of the call to its end.
    pub duration: Duration,
    /// Size of the arguments in bytes, if it is known.
    pub argument_size: Option<usize>,
    /// Outcome and content of the call.
    pub conclusion: Conclusion,
}

/// Outcome and content of a call. The content (`detail`, `data`, the log entries) is for the calling user
/// only.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// Outcome of the call.
    pub outcome: Outcome,
    /// The limit that ended the call.
    pub limit: Option<String>,
    /// Details of the error that are not in the reply.
    pub detail: Option<String>,
    /// Data of a `ToolError`.
    pub data: Option<Box<RawValue>>,
    /// The guest's log.
    pub transcript: Transcript,
    /// Outbound traffic of the call.
    pub usage: UsageSnapshot,
    /// Size of the result in bytes.
    pub result_size: usize,
}

/// Outcome of a call.
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
    /// The call reached its deadline.
    Deadline,
    /// The call reached another limit.
    Limit,
    /// The client disconnected or cancelled.
    Cancelled,
    /// Too many calls were running.
    Busy,
    /// A call limit of the toolkit's audience was reached.
    OverLimit,
    /// The toolkit reaches further than the user has agreed to.
    NeedsConsent,
    /// The operator's service that inspects calls has not allowed the arguments.
    ArgumentsRefused,
    /// The operator's service that inspects calls has not allowed the result.
    ResultRefused,
    /// The call asked its user a question, and runs again with the answer.
    Asked,
    /// The toolkit could not run because of a server error.
    Unavailable,
    /// The call had begun, and its server ended before it.
    Interrupted,
}

impl Through {
    /// Returns what acts for a caller.
    pub fn of(caller: &Caller) -> Self {
        Self {
            client: caller.client_id.clone(),
            key_id: caller.key.as_ref().map(|key| key.id.clone()),
            key_name: caller.key.as_ref().map(|key| key.name.clone()),
        }
    }

    /// Removes what identifies the key of a program.
    pub(super) fn without_key(self) -> Self {
        Self { client: self.client, ..Self::default() }
    }
}

impl Lost {
    pub(super) fn mark(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(super) fn is_marked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl From<Outcome> for Conclusion {
    /// Creates a conclusion without details.
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
    /// All outcomes, in display order.
    pub const ALL: [Self; 15] = [
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
        Self::ArgumentsRefused,
        Self::ResultRefused,
        Self::Asked,
        Self::Unavailable,
        Self::Interrupted,
    ];

    /// Outcomes of calls that never ran.
    pub const REFUSED: [Self; 5] =
        [Self::Busy, Self::InvalidParams, Self::OverLimit, Self::NeedsConsent, Self::ArgumentsRefused];

    /// Whether the call gave its client no result, although the client waited for it.
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Succeeded | Self::Cancelled | Self::Asked)
    }

    /// Returns the outcome with a name that was stored.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }

    /// Returns the name that is stored and shown.
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
            Self::ArgumentsRefused => "arguments-refused",
            Self::ResultRefused => "result-refused",
            Self::Asked => "asked",
            Self::Unavailable => "unavailable",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Approximate size of a record without content, in bytes.
const BASE_RECORD_BYTES: usize = 512;

impl BegunCall {
    /// Returns the approximate size in bytes.
    pub(super) fn size(&self) -> usize {
        BASE_RECORD_BYTES + self.user.len() + self.tool.len() + self.account.as_ref().map_or(0, String::len)
    }
}

impl Record {
    /// Returns the approximate size of the record in bytes.
    pub(super) fn size(&self) -> usize {
        let Conclusion { detail, data, transcript, .. } = &self.conclusion;
        let arguments = transcript.entries.iter().flat_map(|entry| &entry.arguments);
        BASE_RECORD_BYTES
            + detail.as_ref().map_or(0, String::len)
            + data.as_ref().map_or(0, |data| data.get().len())
            + transcript.entries.len() * size_of::<LogEntry>()
            + arguments.map(|argument| size_of_val(argument) + argument.get().len()).sum::<usize>()
    }

    /// Removes the content, so that only the fact that the call took place remains.
    pub(super) fn without_content(mut self) -> Self {
        let Conclusion { detail, data, transcript, .. } = &mut self.conclusion;
        (*detail, *data) = (None, None);
        transcript.dropped += transcript.entries.len();
        transcript.entries.clear();
        self
    }
}
