//! Options of a backup.

use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Source and target of a backup, with its options.
#[derive(Clone, Debug)]
pub struct Job {
    /// Data directory.
    pub data: PathBuf,
    /// Folder with components and captured files.
    pub files: PathBuf,
    /// Folder with all backups.
    pub folder: PathBuf,
    /// Path of the master key, if it is a file and keys are to be included.
    pub master_key: Option<PathBuf>,
    /// Description of the master key's source, for people.
    pub master_key_source: String,
    /// Whether keys are included.
    pub keys: KeyCopies,
    /// Number of complete backups to retain, including this one; `None` for all.
    pub keep: Option<NonZeroUsize>,
}

/// Whether a backup includes keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCopies {
    /// Keys are included.
    Included,
    /// Keys are not included.
    LeftOut,
}
