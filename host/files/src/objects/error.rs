//! Errors of the store of files.

use std::error::Error as _;
use std::io;

use kitbag_base::disk::DiskFull;
use kitbag_database::DatabaseError;
use thiserror::Error;

/// Maximum number of quoted characters of a store's error message.
const MAX_QUOTED: usize = 500;

/// Reason why a file was not stored or read. The text is for the log.
#[derive(Debug, Error)]
pub enum ObjectsError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The disk that contains the folder is full.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// The source file cannot be read.
    #[error("the file that was to be stored cannot be read: {0}")]
    Source(#[source] io::Error),
    /// The file does not exist.
    #[error("the file is not there")]
    Missing,
    /// Other processes use another store.
    #[error(
        "it is not the one that the other processes of this service have: the setting objects names another folder than \
         theirs, or the folder is not mounted"
    )]
    OtherStore,
    /// The store of files denies access.
    #[error("the store of files refuses this server: {0}")]
    Refused(String),
    /// The store of files failed, or did not respond in time.
    #[error("the store of files failed: {0}")]
    Unavailable(String),
}

impl ObjectsError {
    /// The error of a store that did not answer in time.
    pub(super) fn timed_out() -> Self {
        Self::Unavailable("it did not answer in time".to_owned())
    }
}

impl From<object_store::Error> for ObjectsError {
    fn from(error: object_store::Error) -> Self {
        let mut cause = error.source();
        while let Some(current) = cause {
            if current.downcast_ref::<io::Error>().is_some_and(DiskFull::caused) {
                return Self::DiskFull(DiskFull);
            }
            cause = current.source();
        }
        let text: String = error.to_string().chars().take(MAX_QUOTED).collect();
        match error {
            object_store::Error::NotFound { .. } => Self::Missing,
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Self::Refused(text)
            }
            _ => Self::Unavailable(text),
        }
    }
}
