//! Several processes over one database. A process joins those that it can work beside
//! ([why so](../../docs/decisions/0038-processes-join-those-they-fit.md)). Each keeps copies in memory, and asks before
//! each request whether they still hold ([why so](../../docs/decisions/0032-every-request-asks.md)); each takes jobs that
//! no other one does at the same time; and each tells the others what has changed, so that they need not wait until they
//! look.
//!
//! Invariants:
//! - a change that was acknowledged before a request began, by any process, holds for that request. If the database
//!   does not say so in time, the request is refused;
//! - a process that the others believe to have ended cannot write what it has claimed before.

mod freshness;
#[doc(hidden)]
pub mod fuzzing;
mod hints;
mod mailbox;
mod processes;
mod profile;
mod store;

pub use freshness::{Copies, Freshness, NoAnswer};
pub use hints::{Heard, Hint, Hints, Listening, Subject};
pub use mailbox::Mailbox;
pub use processes::{Process, Standing};
pub use profile::{JoinError, Profile};
pub use store::{Turn, is_process_alive};
