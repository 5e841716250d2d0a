//! What a toolkit may do: one capability a file, each with its state, its host functions and its
//! `add_to_linker`.
//!
//! Invariant: a capability is linked only when [`Grants`] has it. One whose grant is a list (hosts,
//! names of secrets) checks the list beside its effect.

pub mod fetch;
pub mod grants;
pub mod ingest;
mod knowledge_base;
pub mod log;
mod missing_secrets;
pub mod progress;
pub mod search;
pub mod secrets;
mod trail;

pub use grants::Grants;
pub use missing_secrets::MissingSecrets;
pub use trail::Trail;
