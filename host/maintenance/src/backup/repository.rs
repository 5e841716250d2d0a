//! The folder with all backups: lists, creates and removes them.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, TryLockError};
use std::num::NonZeroUsize;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kitbag_base::folder::Folder;
use kitbag_base::ownership;
use kitbag_base::sha256::Digest;
use kitbag_database::Database;
use kitbag_files::stored_files::{Names, digest_of};
use tracing::warn;

use super::files::Files;
use super::{BackupError, DATABASE, Manifest};

/// Lock file: exclusive for a backup, shared for a restore.
const LOCK: &str = "lock";
/// Suffix of a backup's folder until it is complete, and again during its removal.
const UNFINISHED: &str = ".unfinished";
/// Format of a backup's name: its start time.
const NAME: &str = "%Y-%m-%dT%H-%M-%SZ";
/// Maximum number of backups with the same start second.
const MAX_PER_SECOND: u32 = 100;

/// The folder with all backups.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) folder: Folder,
    /// Held until drop; `None` if a reader cannot open the lock file.
    _lock: Option<File>,
}

/// An incomplete backup. Dropping it removes it, unless it was finished.
#[derive(Debug)]
pub(super) struct Unfinished<'a> {
    repository: &'a Repository,
    name: String,
    pub(super) folder: Folder,
    is_finished: bool,
}

/// An existing backup.
#[derive(Debug)]
pub struct Found {
    /// Name of the backup.
    pub name: String,
    /// Manifest of the backup, or the reason why it cannot be used.
    pub manifest: Result<Manifest, BackupError>,
}

/// Lists the backups in a folder, newest first.
pub fn list(folder: &Path) -> Result<Vec<Found>, BackupError> {
    Repository::open(folder)?.backups()
}

impl Repository {
    /// Opens the folder for a new backup: creates it if it is missing, and removes incomplete backups.
    pub(super) fn claim(path: &Path) -> Result<Self, BackupError> {
        let failed = || BackupError::file(path);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed())?;
        ownership::check_private(path)?;
        let folder = Folder::open(path).map_err(failed())?;
        let lock = folder.lock_file(LOCK).map_err(BackupError::file(&path.join(LOCK)))?;
        locked(lock.try_lock(), path)?;
        let repository = Self { folder, _lock: Some(lock) };
        for name in repository.names()? {
            if name.strip_suffix(UNFINISHED).is_some_and(is_name) {
                repository.folder.remove_subfolder(&name).map_err(BackupError::file(&path.join(&name)))?;
            }
        }
        Ok(repository)
    }

    /// Opens the folder for reading.
    pub(super) fn open(path: &Path) -> Result<Self, BackupError> {
        let folder = Folder::open(path).map_err(BackupError::file(path))?;
        let lock = folder.open_file(LOCK).ok();
        if let Some(lock) = &lock {
            locked(lock.try_lock_shared(), path)?;
        }
        Ok(Self { folder, _lock: lock })
    }

    /// Returns the backups, newest first, without incomplete ones.
    pub(super) fn backups(&self) -> Result<Vec<Found>, BackupError> {
        let mut names = self.names()?;
        names.retain(|name| is_name(name));
        names.sort_unstable();
        let found = names.into_iter().rev().map(|name| {
            let folder = self.backup(&name);
            Found { manifest: folder.and_then(|folder| Manifest::read(&folder, &name)), name }
        });
        Ok(found.collect())
    }

    /// Opens the folder of a backup.
    pub(super) fn backup(&self, name: &str) -> Result<Folder, BackupError> {
        let missing = || BackupError::NoSuchBackup { folder: self.path(), name: name.to_owned() };
        if !is_name(name) {
            return Err(missing());
        }
        self.folder.subfolder(name).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(),
            _ => BackupError::file(&self.path().join(name))(error),
        })
    }

    /// Starts a backup, named by the start time.
    pub(super) fn begin(&self, now: Timestamp) -> Result<Unfinished<'_>, BackupError> {
        let time = now.to_zoned(TimeZone::UTC).strftime(NAME).to_string();
        let mut names = (0..MAX_PER_SECOND)
            .map(|count| if count == 0 { time.clone() } else { format!("{time}-{count:02}") });
        let free = names.find(|name| self.folder.status(name).is_err());
        let name = free.ok_or_else(|| BackupError::InUse(self.path()))?;
        let folder = self.folder.make_subfolder(&format!("{name}{UNFINISHED}"));
        let folder = folder.map_err(BackupError::file(&self.path()))?;
        Ok(Unfinished { repository: self, name, folder, is_finished: false })
    }

    /// Removes the oldest complete backups, so that `keep` remain, and then the files that only they had.
    /// Returns the names of the removed backups.
    pub(super) async fn prune(&self, keep: NonZeroUsize) -> Result<Vec<String>, BackupError> {
        let complete = self.backups()?.into_iter().filter(|found| found.manifest.is_ok());
        let removed: Vec<_> = complete.map(|found| found.name).skip(keep.get()).collect();
        if removed.is_empty() {
            return Ok(removed);
        }
        for name in &removed {
            let unfinished = format!("{name}{UNFINISHED}");
            let remove = || {
                // Renamed first, so that a partly removed backup does not look complete.
                self.folder.rename(name, &self.folder, &unfinished)?;
                self.folder.sync()?;
                self.folder.remove_subfolder(&unfinished)
            };
            remove().map_err(BackupError::file(&self.path().join(name)))?;
        }
        let Some(kept) = self.named_files().await? else { return Ok(removed) };
        Files::make(&self.folder)?.remove_all_but(&kept)?;
        Ok(removed)
    }

    /// Returns the files to which the databases of all backups refer; `None` if one of them cannot be read,
    /// because the files that it needs are then unknown.
    async fn named_files(&self) -> Result<Option<HashSet<Digest>>, BackupError> {
        let mut needed = HashSet::new();
        for found in self.backups()? {
            let folder = self.path().join(&found.name);
            let database = match Database::open_copy(&folder.join(DATABASE)).await {
                Ok(database) => database,
                Err(error) => {
                    warn!(backup = %folder.display(), %error, "no file is removed: this backup cannot be read");
                    return Ok(None);
                }
            };
            let mut pages = Names::default();
            while let Some(named) = pages.next_page_of(&database).await? {
                needed.extend(named.iter().filter_map(|file| digest_of(&file.digest)));
            }
            database.close().await;
        }
        Ok(Some(needed))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn names(&self) -> Result<Vec<String>, BackupError> {
        let names = self.folder.names().and_then(Iterator::collect);
        names.map_err(BackupError::file(self.folder.path()))
    }
}

impl Unfinished<'_> {
    /// Makes the backup complete, durably. Returns its name.
    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<String, BackupError> {
        manifest.write(&self.folder)?;
        let folder = &self.repository.folder;
        let finish = || {
            folder.rename(&format!("{}{UNFINISHED}", self.name), folder, &self.name)?;
            folder.sync()
        };
        finish().map_err(BackupError::file(folder.path()))?;
        self.is_finished = true;
        Ok(self.name.clone())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            // On failure, the next backup removes it.
            let _ = self.repository.folder.remove_subfolder(&format!("{}{UNFINISHED}", self.name));
        }
    }
}

/// Whether the name of a folder is that of a backup: a time, with a number if there were several in one
/// second.
fn is_name(name: &str) -> bool {
    const PATTERN: &[u8] = b"0000-00-00T00-00-00Z";
    const NUMBERED: &[u8] = b"0000-00-00T00-00-00Z-00";

    let fits = |pattern: &[u8]| {
        let same =
            |(letter, form): (u8, &u8)| if *form == b'0' { letter.is_ascii_digit() } else { letter == *form };
        name.len() == pattern.len() && name.bytes().zip(pattern).all(same)
    };
    fits(PATTERN) || fits(NUMBERED)
}

fn locked(outcome: Result<(), TryLockError>, path: &Path) -> Result<(), BackupError> {
    outcome.map_err(|error| match error {
        TryLockError::WouldBlock => BackupError::InUse(path.to_owned()),
        TryLockError::Error(cause) => BackupError::File { path: path.join(LOCK), cause },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_backups_are_names_of_backups() {
        for (name, expected) in [
            ("2026-11-23T04-26-32Z", true),
            ("2026-11-23T04-26-32Z-01", true),
            ("2026-11-23T04-26-32Z.unfinished", false),
            ("2026-11-23T04-26-32", false),
            ("files", false),
            ("..", false),
            ("", false),
        ] {
            assert_eq!(is_name(name), expected, "{name}");
        }
    }

    #[test]
    fn backups_of_one_second_have_names_in_their_order_and_what_is_not_finished_goes_away() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join("backups");
        let repository = Repository::claim(&path).expect("it can be made");
        let begin = || repository.begin(Timestamp::UNIX_EPOCH).expect("there is a name");

        let first = begin();
        std::fs::create_dir(path.join(&first.name)).expect("its final name");
        let second = begin();
        assert!(first.name == "1970-01-01T00-00-00Z" && second.name > first.name, "{}", second.name);
        std::mem::forget(second);
        drop(first);
        assert!(matches!(Repository::claim(&path), Err(BackupError::InUse(_))));
        assert!(matches!(Repository::open(&path), Err(BackupError::InUse(_))));
        drop(repository);

        drop(Repository::claim(&path).expect("nobody uses it"));
        let mut left: Vec<_> =
            std::fs::read_dir(&path).expect("a folder").map(|it| it.expect("one").file_name()).collect();
        left.sort();
        assert_eq!(left, ["1970-01-01T00-00-00Z", "lock"]);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let directory = tempfile::tempdir().expect("a scratch directory");
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))
            .expect("it is ours");

        assert!(matches!(Repository::claim(directory.path()), Err(BackupError::Distrusted(_))));
    }
}
