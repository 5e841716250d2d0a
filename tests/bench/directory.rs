//! Working directory of the benchmarks.

use std::{env, io};

/// Changes to the folder that the task was called from, named by the variable `CALLED_FROM`. Cargo runs
/// benchmarks in the folder of their package, where relative paths from the command line would be wrong.
pub(crate) fn enter_callers() -> io::Result<()> {
    env::var_os("CALLED_FROM").map_or(Ok(()), env::set_current_dir)
}
