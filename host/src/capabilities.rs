//! What a toolkit may do: one capability a file, each with its state, its host functions and its
//! `add_to_linker`.
//!
//! Invariant: a capability is linked only when [`Grants`] has it. One whose grant is a list (hosts,
//! names of secrets) checks the list beside its effect.

pub mod fetch;
pub mod grants;
pub mod ingest;
pub mod log;
mod missing_secrets;
pub mod progress;
pub mod search;
pub mod secrets;
mod trail;

pub use grants::Grants;
pub use missing_secrets::MissingSecrets;
pub use trail::Trail;

/// Why a capability that is granted cannot answer yet; a guest sees it as `unavailable`.
pub(crate) const NO_KNOWLEDGE_BASE: &str = "this server has no knowledge base yet";
