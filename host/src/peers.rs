//! Several processes over one database: each keeps copies in memory, and asks before each request whether they still hold
//! ([why so](../../docs/decisions/0032-every-request-asks.md)).
//!
//! Invariant: a change that was acknowledged before a request began, by any process, holds for that request. If the database
//! does not say so in time, the request is refused.

mod freshness;
mod store;

pub use freshness::{Copies, Freshness, NoAnswer};
