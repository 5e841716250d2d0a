//! Notices changes of a crate by looking: it works on every file system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often it looks.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// More files than that are not looked at.
const MAX_FILES: usize = 2_000;

/// A crate's sources, and the files that the author named, as they were when last looked at.
pub(super) struct Sources {
    directory: PathBuf,
    others: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, Option<(SystemTime, u64)>>,
}

impl Sources {
    /// Looks at the crate in `directory` and at `others` for the first time.
    pub(super) fn of(directory: &Path, others: Vec<PathBuf>) -> Self {
        let mut sources = Self { directory: directory.to_owned(), others, seen: BTreeMap::new() };
        sources.seen = sources.look();
        sources
    }

    /// Returns once a file is another than when last looked at.
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
    // What cannot be read now may be there the next time.
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
