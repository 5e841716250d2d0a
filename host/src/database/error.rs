//! What failures of the database mean to others.

use thiserror::Error;

/// Why the database did not do what it was asked to. The text is for the log.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct DatabaseError(#[from] sqlx::Error);

impl DatabaseError {
    /// A value that cannot be brought into the form in which it is kept.
    pub(crate) fn unwritable(error: serde_json::Error) -> Self {
        Self(sqlx::Error::Encode(error.into()))
    }

    /// A value that is not of the form in which it was kept.
    pub(crate) fn unreadable(error: serde_json::Error) -> Self {
        Self(sqlx::Error::Decode(error.into()))
    }

    /// Whether there was no room on the disk. The transaction is undone, whole.
    pub(crate) fn is_disk_full(&self) -> bool {
        // `SQLITE_FULL`, https://sqlite.org/rescode.html#full
        self.0.as_database_error().is_some_and(|error| error.code().as_deref() == Some("13"))
    }
}
