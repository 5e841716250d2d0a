//! All SQL about processes, revisions of their copies in memory, and their messages to each other.

mod answers;
mod freshness;
mod hints;
mod processes;

pub(super) use answers::{pass_answer, take_answer};
pub(super) use freshness::{Revisions, revisions};
pub(super) use hints::{CHANNEL, notify};
pub(super) use processes::{Heartbeat, Processes};
pub use processes::{Turn, is_process_alive};
