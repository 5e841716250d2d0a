//! Errors of the database.

use thiserror::Error;

/// An error of the database. The text is for the log.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct DatabaseError(#[from] sqlx::Error);

impl DatabaseError {
    /// The error for a value that cannot be encoded for storage.
    pub(crate) fn unwritable(error: serde_json::Error) -> Self {
        Self(sqlx::Error::Encode(error.into()))
    }

    /// The error for a stored value that cannot be decoded.
    pub(crate) fn unreadable(error: serde_json::Error) -> Self {
        Self(sqlx::Error::Decode(error.into()))
    }

    /// Whether the disk was full. The whole transaction is rolled back then.
    pub(crate) fn is_disk_full(&self) -> bool {
        // `SQLITE_FULL`, https://sqlite.org/rescode.html#full
        self.0.as_database_error().is_some_and(|error| error.code().as_deref() == Some("13"))
    }
}
