//! Memory of this process, which includes the server.

use std::fs;

use crate::Outcome;

/// Anonymous resident memory (`RssAnon`), in bytes.
pub(crate) fn private() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("the kernel tells RssAnon")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? << 10)
}
