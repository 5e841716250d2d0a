//! The data directory into which a backup is restored.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use kitbag_base::folder::Folder;
use kitbag_base::ownership;
use kitbag_files::stored_files::UNFINISHED_RESTORE;

use super::BackupError;
use super::files::{Copied, copy};
use super::manifest::StoredFile;

/// Name of the file that a running server locks.
const LOCK: &str = "lock";
/// Names that an empty directory may contain; file systems create `lost+found` on a new disk.
const IGNORED: [&str; 2] = [LOCK, "lost+found"];

/// A data directory into which a backup is restored.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) folder: Folder,
}

impl Target {
    /// Opens an empty data directory, or one in which a restore was interrupted. Creates it if it is missing.
    pub(super) fn open(data: &Path) -> Result<Self, BackupError> {
        ownership::claim_directory(data)?;
        let target = Self { folder: Folder::open(data).map_err(BackupError::file(data))? };
        target.check_empty()?;
        Ok(target)
    }

    /// Marks the directory as incomplete, and locks out servers and other restores.
    pub(super) fn claim(&self) -> Result<File, BackupError> {
        let path = || self.folder.path().to_owned();
        let lock = self.folder.lock_file(LOCK).map_err(BackupError::file(&path().join(LOCK)))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => BackupError::DataInUse(path()),
            TryLockError::Error(cause) => BackupError::File { path: path().join(LOCK), cause },
        })?;
        // A server may have been started, and stopped, while the backup was checked.
        self.check_empty()?;
        let mark = || {
            self.folder.lock_file(UNFINISHED_RESTORE)?.sync_all()?;
            self.folder.sync()
        };
        mark().map_err(BackupError::file(&path()))?;
        Ok(lock)
    }

    /// Fails if the directory is not empty, unless a restore into it was interrupted.
    fn check_empty(&self) -> Result<(), BackupError> {
        let data = self.folder.path();
        if self.folder.status(UNFINISHED_RESTORE).is_ok() {
            return Ok(());
        }
        let entries: io::Result<Vec<_>> = self.folder.names().and_then(Iterator::collect);
        let mut entries = entries.map_err(BackupError::file(data))?;
        entries.retain(|name| !IGNORED.contains(&name.as_str()));
        entries.sort_unstable();
        match entries.into_iter().next() {
            Some(entry) => Err(BackupError::NotEmpty { folder: data.to_owned(), entry }),
            None => Ok(()),
        }
    }

    /// Copies a file that the manifest describes, first under the name `temporary`.
    pub(super) fn place(
        &self,
        source: File,
        temporary: &str,
        name: &str,
        expected: &StoredFile,
    ) -> Result<(), BackupError> {
        let place = || {
            self.folder.remove_file(temporary)?;
            let mut file = self.folder.create_file(temporary)?;
            match copy(source, &mut file, &expected.sha256)? {
                Copied::Whole { .. } => {}
                Copied::DamagedSource(reason) => return Err(io::Error::other(reason)),
            }
            file.sync_all()?;
            self.folder.rename(temporary, &self.folder, name)?;
            self.folder.sync()
        };
        place().map_err(BackupError::file(&self.folder.path().join(name)))
    }

    /// Removes the mark of an incomplete restore.
    pub(super) fn finish(&self) -> Result<(), BackupError> {
        let finish = || {
            self.folder.remove_file(UNFINISHED_RESTORE)?;
            self.folder.sync()
        };
        finish().map_err(BackupError::file(self.folder.path()))
    }
}
