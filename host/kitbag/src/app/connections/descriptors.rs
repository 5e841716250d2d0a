//! Number of connections that the limit of open files allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// Returns the number of connections that are possible, at most `wanted`. They get half of the process's file
/// descriptors; the other half is for files, databases and the requests of calls. Raises the soft limit to
/// the hard limit: many systems start with 1024, for programs that use `select`, which this one does not.
pub(super) fn room_for_connections(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let limit = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { limit };
    let room = limit.current.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX) / 2);
    if room < wanted {
        warn!(
            connections = room,
            "the limit of open files (ulimit -n) leaves room for fewer connections than are set"
        );
    }
    room.min(wanted)
}
