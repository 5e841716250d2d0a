//! Errors of backups and restores.

use std::io;
use std::path::{Path, PathBuf};

use kitbag_base::disk::DiskFull;
use kitbag_base::ownership::{DirectoryError, Distrust};
use kitbag_database::{CopyError, DatabaseError};
use thiserror::Error;

/// Reason why a backup or a restore failed. Existing complete backups are unchanged.
#[derive(Debug, Error)]
pub enum BackupError {
    /// Other users can access the folder, or it cannot be read.
    #[error(transparent)]
    Distrusted(#[from] Distrust),
    /// The data directory cannot be used.
    #[error("cannot use the data directory: {0}")]
    Directory(#[from] DirectoryError),
    /// There is no database in the data directory.
    #[error("{} has no database: no server has run on it", .0.display())]
    NoDatabase(PathBuf),
    /// The database cannot be read.
    #[error("cannot read the database: {0}")]
    Database(#[from] DatabaseError),
    /// The database cannot be copied.
    #[error("cannot copy the database: {0}")]
    Copy(CopyError),
    /// The database is damaged.
    #[error("the database is damaged")]
    Damaged(Vec<String>),
    /// The database has triggers, views, indexes or tables of other origin, and could not be restored.
    #[error("the database has parts that this program has not made")]
    ForeignParts(Vec<String>),
    /// The database has the schema of another version of this program.
    #[error("the database has schema {found}, and this program has schema {program}")]
    Schema {
        /// Schema of the database.
        found: i64,
        /// Schema of the program.
        program: i64,
    },
    /// The server stores files faster than they are copied.
    #[error("the server stores files faster than they can be copied")]
    TooBusy,
    /// A row refers to a file that was not copied: a bug of this program.
    #[error("the copy of the database refers to the file {0}, which was not copied")]
    Incomplete(String),
    /// The disk is full.
    #[error("the disk of {} is full", .0.display())]
    DiskFull(PathBuf),
    /// There is too little free space.
    #[error("{} has too little free space: {needed} bytes are needed, {free} are free", folder.display())]
    NoRoom {
        /// Folder on that disk.
        folder: PathBuf,
        /// Needed space, in bytes.
        needed: u64,
        /// Free space, in bytes.
        free: u64,
    },
    /// Another backup or restore uses the folder.
    #[error("another backup or restore is using {}", .0.display())]
    InUse(PathBuf),
    /// A server or another restore uses the data directory.
    #[error("a server or another restore is using {}", .0.display())]
    DataInUse(PathBuf),
    /// A file or folder cannot be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// There is no backup of this name.
    #[error("{} has no backup {name}", folder.display())]
    NoSuchBackup {
        /// Folder that was searched.
        folder: PathBuf,
        /// Requested name.
        name: String,
    },
    /// There is no complete backup.
    #[error("{} has no complete backup", .0.display())]
    NoBackup(PathBuf),
    /// A backup is not complete, or was changed.
    #[error("the backup {name} cannot be used: {reason}")]
    Unusable {
        /// Name of the backup.
        name: String,
        /// Reason.
        reason: String,
    },
    /// The backup was made by a newer program.
    #[error("the backup {name} has schema {found}, and this program knows schemas up to {program}")]
    Newer {
        /// Name of the backup.
        name: String,
        /// Schema of the backup.
        found: i64,
        /// Latest schema of the program.
        program: i64,
    },
    /// Files of the backup are missing or damaged.
    #[error("files of the backup {name} are missing or damaged: {count}")]
    DamagedFiles {
        /// Name of the backup.
        name: String,
        /// Number of files.
        count: u64,
        /// Examples, each with the problem.
        examples: Vec<String>,
    },
    /// The data directory is not empty.
    #[error("{} is not empty: it has {entry}", .folder.display())]
    NotEmpty {
        /// The data directory.
        folder: PathBuf,
        /// One of the files or folders in it.
        entry: String,
    },
}

impl BackupError {
    /// Returns details of the error, one per line.
    pub fn details(&self) -> &[String] {
        match self {
            Self::Damaged(problems) | Self::ForeignParts(problems) => problems,
            Self::DamagedFiles { examples, .. } => examples,
            _ => &[],
        }
    }

    /// Returns the error for a file that cannot be read or written.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        |cause| {
            if DiskFull::caused(&cause) { Self::DiskFull(path) } else { Self::File { path, cause } }
        }
    }

    /// Returns the error for a copy of the database to `file`.
    pub(super) fn copy(file: &Path) -> impl FnOnce(CopyError) -> Self + use<> {
        let file = file.to_owned();
        |cause| if cause.is_disk_full() { Self::DiskFull(file) } else { Self::Copy(cause) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_as_such() {
        let full = BackupError::file(Path::new("/backups"))(io::ErrorKind::StorageFull.into());

        assert_eq!(full.to_string(), "the disk of /backups is full");
    }
}
