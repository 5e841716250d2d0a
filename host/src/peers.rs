//! Several processes over one database. Each keeps copies in memory, and asks before each request whether they still
//! hold ([why so](../../docs/decisions/0032-every-request-asks.md)); and each takes jobs that no other one does at
//! the same time.
//!
//! Invariants:
//! - a change that was acknowledged before a request began, by any process, holds for that request. If the database
//!   does not say so in time, the request is refused;
//! - a process that the others believe to have ended cannot write what it has claimed before.

mod freshness;
mod processes;
mod store;

pub use freshness::{Copies, Freshness, NoAnswer};
pub use processes::Process;
pub(crate) use store::Turn;
