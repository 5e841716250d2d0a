//! What can go wrong with files.

use std::error::Error as _;
use std::io;

use kitbag_base::disk::DiskFull;
use kitbag_database::DatabaseError;
use thiserror::Error;

/// Characters of a store's answer that are quoted.
const MAX_QUOTED: usize = 500;

/// Why a file was not stored or read. The text is for the log.
#[derive(Debug, Error)]
pub enum ObjectsError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The disk with the folder is full.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// The file that was to be stored cannot be read.
    #[error("the file that was to be stored cannot be read: {0}")]
    Source(#[source] io::Error),
    /// There is no such file.
    #[error("the file is not there")]
    Missing,
    /// Other processes have another store.
    #[error(
        "it is not the one that the other processes of this service have: the setting objects names another folder than \
         theirs, or the folder is not mounted"
    )]
    OtherStore,
    /// The store of files refuses this server.
    #[error("the store of files refuses this server: {0}")]
    Refused(String),
    /// The store of files failed, or did not answer in time.
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
