//! Processes as the kernel shows them.

use std::fs;

/// A process, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(pub(crate) u32);

impl Process {
    /// The processes that it has started and that are still there.
    pub(crate) fn children(self) -> Vec<Self> {
        let ids = fs::read_dir("/proc").expect("Linux").flatten();
        let processes = ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Self));
        processes.filter(|process| process.parent() == Some(self)).collect()
    }

    /// Whether it runs: one that has ended and that nobody has waited for does not.
    pub(crate) fn is_running(self) -> bool {
        self.stat().is_some_and(|stat| !stat.starts_with('Z'))
    }

    /// A file of what the kernel says about it, such as `environ`.
    pub(crate) fn read(self, file: &str) -> Vec<u8> {
        fs::read(format!("/proc/{}/{file}", self.0)).unwrap_or_default()
    }

    /// What its open descriptors are.
    pub(crate) fn open_files(self) -> Vec<String> {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.0)).into_iter().flatten().flatten();
        let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.map(|target| target.display().to_string()).collect()
    }

    /// How much it gives way to others.
    pub(crate) fn niceness(self) -> i32 {
        // Field 19 of proc_pid_stat(5), of which two stand before the rest.
        let stat = self.stat().expect("it is there");
        stat.split_whitespace().nth(16).and_then(|field| field.parse().ok()).expect("a number")
    }

    fn parent(self) -> Option<Self> {
        self.stat()?.split_whitespace().nth(1)?.parse().ok().map(Self)
    }

    /// Its state and what follows: the name before it may hold anything.
    fn stat(self) -> Option<String> {
        let stat = String::from_utf8(self.read("stat")).ok()?;
        stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
    }
}
