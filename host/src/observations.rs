//! What the host observes of one call while it runs.
//!
//! Capabilities write it, and whoever runs the call reads it: also when the call was broken off, and its store
//! with it.

mod json_text;
mod log;
mod missing_secrets;
mod sign_in_failure;
mod usage;

use crate::outbound_auth::AttachedTokens;
pub use json_text::{json_or_string, json_string};
pub use log::{Entry, Log, Source, Transcript};
pub use missing_secrets::MissingSecrets;
pub use sign_in_failure::SignInFailure;
pub use usage::{Usage, UsageSnapshot};

/// What one call wrote, sent, was signed in with, and went without. A clone shares all of it.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// What the guest wrote, and what the host has to say to its author.
    pub log: Log,
    /// What went over the network.
    pub usage: Usage,
    /// Tokens that the host has attached. An API may send back what it received, so they are looked
    /// for in whatever leaves the sandbox.
    pub tokens: AttachedTokens,
    /// Secrets that it asked for and that have no value.
    pub missing: MissingSecrets,
    /// Why the host could not sign in for it, where trying again does not help.
    pub sign_in: SignInFailure,
}

impl Observations {
    /// Of a call whose log keeps at most so many bytes.
    pub fn new(max_log_bytes: usize) -> Self {
        Self { log: Log::new(max_log_bytes), ..Self::default() }
    }
}
