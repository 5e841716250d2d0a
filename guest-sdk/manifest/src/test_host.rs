//! The host of calls in tests and under `kitbag dev`: grants, cache, documents, questions, sign-in, prompts and
//! resources.
//!
//! Both SDKs use it: Rust directly, TypeScript through `rules-module`. They run the handler, keep the state of a call,
//! and answer its requests; every decision about these is made here.
//!
//! Invariants:
//! - nothing here reads a clock or a network: the time is a parameter, and an exchange only says what to send next;
//! - no function keeps state, because a module whose check was aborted is discarded.

pub mod cache;
mod environment;
pub mod exchange;
pub mod ingested;
pub mod knowledge;
pub mod offers;
pub mod questions;
mod result;
#[cfg(test)]
mod tests;

pub use environment::{Environment, is_token};
pub use offers::{OfferTarget, Offered, PreparedOffer};
pub use result::{check_offered, check_result, completed_uris};

use crate::ToolkitDefinition;
use crate::knowledge::undeclared_scope;

/// Returns an error that names the scope if the toolkit does not declare it. A server refuses such a component at
/// deploy.
pub fn require_scope(definition: &ToolkitDefinition, scope: &str) -> Result<(), String> {
    if definition.has_scope(scope) { Ok(()) } else { Err(undeclared_scope(scope)) }
}
