//! Processor time of the PostgreSQL server.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::Outcome;
use crate::child::processor_time_of;

/// Processor time of the server so far: all of its processes, including ended ones.
pub(crate) fn processor_time() -> Outcome<Duration> {
    let folder =
        env::var_os("TEST_POSTGRES_FOLDER").ok_or("`scripts/with-postgres` sets TEST_POSTGRES_FOLDER")?;
    let file = fs::read_to_string(PathBuf::from(folder).join("data/postmaster.pid"))?;
    let first: u32 = file.lines().next().ok_or("the file begins with the process id")?.trim().parse()?;
    let mut sum = processor_time_of(first)?.of_ended_children;
    for process in fs::read_dir("/proc")? {
        let name = process?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // The process may have ended meanwhile.
        let Ok(time) = processor_time_of(process) else { continue };
        if process == first || time.parent == first {
            sum += time.own;
        }
    }
    Ok(sum)
}
