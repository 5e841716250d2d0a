//! Several processes over one database. A process may join only if it is compatible with all running ones
//! ([why](../../docs/decisions/0038-processes-join-those-they-fit.md)). Each has copies of data in memory,
//! and checks before each request whether they are current
//! ([why](../../docs/decisions/0032-every-request-asks.md)). Each job is claimed by one process at a time.
//! Processes notify each other of changes, which shortens the delay of polling.
//!
//! Invariants:
//! - a change that any process acknowledged before a request began is visible to that request. If the
//!   database does not confirm this in time, the request is refused;
//! - a process that the others consider dead can no longer write to what it had claimed.

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
