//! Errors of the database.

use std::io;

use thiserror::Error;

use super::Release;

/// A database error. Its text is for the log, not for clients.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct DatabaseError(Cause);

#[derive(Debug, Error)]
enum Cause {
    #[error(transparent)]
    Engine(sqlx::Error),
    #[error(
        "a process of release {other} uses this database, and this program is of release {this}: upgrade one release at a \
         time, or stop all processes of {other} first (a process that was killed counts for half a minute)"
    )]
    TooFarApart { other: String, this: Release },
    #[error(
        "the database was converted by release {newest}, and this program is of release {this}, which is too old for it"
    )]
    TooOld { newest: String, this: Release },
    #[error(
        "PostgreSQL {version} with the encoding {encoding} does not work: it takes 16 or newer with UTF8"
    )]
    Unfit { version: i32, encoding: String },
    #[error("an operator has ended this user; nothing is stored for them")]
    UserEnded,
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        Self(Cause::Engine(error))
    }
}

impl DatabaseError {
    /// Creates the error for a value that cannot be encoded for storage.
    pub fn unwritable(error: serde_json::Error) -> Self {
        sqlx::Error::Encode(error.into()).into()
    }

    /// Creates the error for a stored value that cannot be decoded.
    pub fn unreadable(error: serde_json::Error) -> Self {
        sqlx::Error::Decode(error.into()).into()
    }

    /// Creates the error for a statement that exceeded its timeout.
    pub(super) fn timed_out() -> Self {
        sqlx::Error::Io(io::ErrorKind::TimedOut.into()).into()
    }

    /// Creates the error for a database in use by a process of an incompatible release; `this` is the release
    /// of this program.
    pub(crate) fn too_far_apart(other: String, this: Release) -> Self {
        let other = if other.is_empty() { "0.0".to_owned() } else { other };
        Self(Cause::TooFarApart { other, this })
    }

    /// Creates the error for a server whose version or encoding is not supported.
    pub(super) fn unfit(version: i32, encoding: String) -> Self {
        Self(Cause::Unfit { version, encoding })
    }

    /// Creates the error for a database migrated by a later release that is incompatible with `this` one.
    pub(super) fn too_old(newest: String, this: Release) -> Self {
        Self(Cause::TooOld { newest, this })
    }

    /// Creates the error for a write for a user who was ended.
    pub(super) fn user_ended() -> Self {
        Self(Cause::UserEnded)
    }

    /// Returns whether the write was for a user who was ended.
    pub fn is_user_ended(&self) -> bool {
        matches!(self.0, Cause::UserEnded)
    }

    /// Returns whether a foreign key constraint was violated.
    pub fn is_missing_reference(&self) -> bool {
        let Cause::Engine(error) = &self.0 else { return false };
        error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation)
    }

    /// Returns whether the disk was full. The whole transaction is rolled back in that case.
    pub fn is_disk_full(&self) -> bool {
        let Cause::Engine(error) = &self.0 else { return false };
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        // `SQLITE_FULL`, https://sqlite.org/rescode.html#full, and `disk_full`,
        // https://www.postgresql.org/docs/16/errcodes-appendix.html
        matches!(code.as_deref(), Some("13" | "53100"))
    }
}
