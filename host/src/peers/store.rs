//! All SQL about processes, and about revisions of what they keep in memory.

mod freshness;
mod processes;

pub(super) use freshness::{Revisions, revisions};
pub(crate) use processes::Turn;
pub(super) use processes::{Heartbeat, Processes};
