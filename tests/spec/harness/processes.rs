//! Processes, as `/proc` describes them.

use std::fs;
use std::time::Duration;

/// Process, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(pub(crate) u32);

impl Process {
    /// Returns its child processes that still exist.
    pub(crate) fn children(self) -> Vec<Self> {
        let ids = fs::read_dir("/proc").expect("Linux").flatten();
        let processes = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Self));
        processes.filter(|process| process.parent() == Some(self)).collect()
    }

    /// Whether the process runs. A zombie does not.
    pub(crate) fn is_running(self) -> bool {
        self.stat().is_some_and(|stat| !stat.starts_with('Z'))
    }

    /// Reads a file of its folder in `/proc`, such as `environ`; empty if the process no longer exists.
    pub(crate) fn read(self, file: &str) -> Vec<u8> {
        fs::read(format!("/proc/{}/{file}", self.0)).unwrap_or_default()
    }

    /// Peak resident memory, in MiB.
    pub(crate) fn peak_mib(self) -> u64 {
        let status = String::from_utf8(self.read("status")).expect("text");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it runs");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
    }

    /// Returns the targets of its open file descriptors.
    pub(crate) fn open_files(self) -> Vec<String> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.0)).into_iter().flatten().flatten();
        let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.map(|target| target.display().to_string()).collect()
    }

    /// Returns its nice value.
    pub(crate) fn niceness(self) -> i32 {
        // Field 19 of proc_pid_stat(5); `stat` leaves out the first two.
        let stat = self.stat().expect("it is there");
        stat.split_whitespace().nth(16).and_then(|field| field.parse().ok()).expect("a number")
    }

    /// Returns the processor time of its threads that have the priority of the process itself, and do not give
    /// way to others.
    pub(crate) fn busy_time(self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten().flatten();
        let threads = threads.filter_map(|thread| {
            // Fields 19 and 41 of proc_pid_stat(5): nice value, and scheduling policy.
            let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
            let fields: Vec<_> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
            let gives_way = fields[16].parse::<i32>().ok()? > self.niceness() || fields[38] != "0";
            let spent = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let nanoseconds = spent.split_whitespace().next()?.parse().ok()?;
            (!gives_way).then(|| Duration::from_nanos(nanoseconds))
        });
        threads.sum()
    }

    fn parent(self) -> Option<Self> {
        self.stat()?.split_whitespace().nth(1)?.parse().ok().map(Self)
    }

    /// Fields of `/proc/PID/stat` from the state on. The name before it may contain any characters.
    fn stat(self) -> Option<String> {
        let stat = String::from_utf8(self.read("stat")).ok()?;
        stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
    }
}
