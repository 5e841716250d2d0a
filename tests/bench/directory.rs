//! Where the benchmarks run.

use std::{env, io};

/// Enters the folder that the task was called from, whose name it leaves in a variable: cargo runs benchmarks in the folder
/// of their package, where paths from the command line mean something else.
pub(crate) fn enter_callers() -> io::Result<()> {
    env::var_os("CALLED_FROM").map_or(Ok(()), env::set_current_dir)
}
