//! What a call leaves behind on the host's side.

use super::MissingSecrets;
use super::fetch::Usage;
use super::log::Log;
use crate::outbound_auth::AttachedTokens;

/// What a call wrote, sent, was signed in with, and went without. A clone reads on while the call runs, and what it
/// has read is still there when the call was broken off.
#[derive(Clone, Debug)]
pub struct Trail {
    /// What the guest wrote, and what the host has to say to its author.
    pub log: Log,
    /// What went over the network.
    pub usage: Usage,
    /// Tokens that the host has attached. An API may send back what it received, so they are looked
    /// for in whatever leaves the sandbox.
    pub tokens: AttachedTokens,
    /// Secrets that it asked for and that have no value.
    pub missing: MissingSecrets,
}

impl Trail {
    /// Begins a trail whose log keeps at most `log_budget` bytes.
    pub fn new(log_budget: usize) -> Self {
        Self {
            log: Log::new(log_budget),
            usage: Usage::default(),
            tokens: AttachedTokens::default(),
            missing: MissingSecrets::default(),
        }
    }
}
