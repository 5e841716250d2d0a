//! Detects changes of a crate by polling, which works on every file system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Largest number of files to watch.
const MAX_FILES: usize = 2_000;

/// State of a crate's sources, and of files named by the author, at the last poll.
pub(super) struct Sources {
    directory: PathBuf,
    others: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, Option<(SystemTime, u64)>>,
}

impl Sources {
    /// Records the initial state of the crate in `directory` and of `others`.
    pub(super) fn of(directory: &Path, others: Vec<PathBuf>) -> Self {
        let mut sources = Self { directory: directory.to_owned(), others, seen: BTreeMap::new() };
        sources.seen = sources.look();
        sources
    }

    /// Returns once a file has changed since the last poll.
    pub(super) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let now = self.look();
            if now != self.seen {
                self.seen = now;
                return;
            }
        }
    }

    fn look(&self) -> BTreeMap<PathBuf, Option<(SystemTime, u64)>> {
        let mut files = vec![self.directory.join("Cargo.toml"), self.directory.join("build.rs")];
        files.extend(self.others.iter().cloned());
        collect(&self.directory.join("src"), &mut files);
        let state = |file: &Path| {
            let metadata = fs::metadata(file).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        files.into_iter().map(|file| (file.clone(), state(&file))).collect()
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    // An unreadable folder or file may be readable at the next poll.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if files.len() >= MAX_FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_new_file_and_other_words_are_changes_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let source = folder.path().join("src/deep");
        fs::create_dir_all(&source).expect("a scratch folder");
        fs::write(source.join("a.rs"), "one").expect("a scratch file");
        let settings = folder.path().join(".env");
        let mut sources = Sources::of(folder.path(), vec![settings.clone()]);
        let within = Duration::from_secs(1);

        fs::create_dir_all(folder.path().join("target")).expect("a scratch folder");
        fs::write(folder.path().join("target/b.rs"), "two").expect("a scratch file");
        assert!(timeout(within, sources.changed()).await.is_err(), "compiler output is no source");
        for (file, text) in [(source.join("a.rs"), "other"), (source.join("b.rs"), "new"), (settings, "A=b")]
        {
            fs::write(&file, text).expect("a scratch file");
            assert!(timeout(within * 10, sources.changed()).await.is_ok(), "{} changed", file.display());
        }
    }
}
