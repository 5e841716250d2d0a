//! The host's records of one call while it runs.
//!
//! Capabilities write them, and the code that runs the call reads them, even if the call was aborted and its
//! store dropped.

mod asked_question;
mod json_text;
mod log;
mod missing_secrets;
mod refused_hosts;
mod sign_in_failure;
mod usage;

use kitbag_net::traces::Trace;
use kitbag_vault::outbound_auth::AttachedTokens;

pub use asked_question::{AskedQuestion, QuestionId, Unanswered};
pub use json_text::{json_or_string, json_string};
pub use log::{Log, LogEntry, Source, Transcript};
pub use missing_secrets::MissingSecrets;
pub use refused_hosts::RefusedHosts;
pub use sign_in_failure::{Reason, SignInFailure};
pub use usage::{Usage, UsageSnapshot};

/// The log, traffic, attached tokens, missing secrets, sign-in failure, refused hosts, question and trace of one call.
/// Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// The guest's output, and the host's messages to the toolkit's author.
    pub log: Log,
    /// Network traffic.
    pub usage: Usage,
    /// Tokens that the host has attached. An API may echo them, so all output of the sandbox is searched for
    /// them.
    pub tokens: AttachedTokens,
    /// Requested secrets that have no value.
    pub missing: MissingSecrets,
    /// Reason why the host could not sign in for the call, if a retry does not help.
    pub sign_in: SignInFailure,
    /// Hosts that the operator does not permit to toolkits, of refused requests.
    pub refused_hosts: RefusedHosts,
    /// The unanswered question at which the call ended.
    pub asked: AskedQuestion,
    /// Parent of the spans of the call's requests.
    pub trace: Trace,
}

impl Observations {
    /// Creates observations with a log of at most `max_log_bytes` bytes.
    pub fn new(max_log_bytes: usize) -> Self {
        Self { log: Log::new(max_log_bytes), ..Self::default() }
    }
}
