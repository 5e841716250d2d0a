//! Errors of copying a service.

use kitbag_database::DatabaseError;
use kitbag_files::objects::ObjectsError;
use kitbag_vault::{MasterKeyError, OpenError};
use thiserror::Error;

use super::UserIdsError;

/// Reason why a service was not copied. The source is unchanged, and the target has no rows.
#[derive(Debug, Error)]
pub enum TransferError {
    /// A database cannot be read or written.
    #[error("the database failed: {0}")]
    Database(#[from] DatabaseError),
    /// A store of files cannot be read or written.
    #[error("cannot copy {object}: {cause}")]
    Objects {
        /// Name of the object.
        object: String,
        /// The cause.
        cause: ObjectsError,
    },
    /// A process is using the source.
    #[error("a server uses the database that is to be copied")]
    SourceInUse,
    /// A process is using the target.
    #[error("a server uses the database that is to be copied to")]
    TargetInUse,
    /// The target is not empty.
    #[error("the database that is to be copied to is not empty: there are rows in {0}")]
    NotEmpty(&'static str),
    /// The target trusts another issuer.
    #[error(
        "the users that are to be copied are those of the issuer {recorded}, and the new service trusts {present}, where \
         the same user ids may be other people"
    )]
    OtherIssuer {
        /// Issuer of the source's users.
        recorded: String,
        /// Issuer that the target trusts.
        present: String,
    },
    /// The new user ids cannot be used.
    #[error(transparent)]
    Users(#[from] UserIdsError),
    /// The target's keys cannot be read.
    #[error("cannot read the master keys of the new service: {0}")]
    Keys(#[from] OpenError),
    /// The target's keys cannot be loaded to encrypt secrets again.
    #[error("cannot read the master keys of the new service: {0}")]
    MasterKeys(#[from] MasterKeyError),
    /// The target lacks master keys of some secrets, or of the audit log.
    #[error("the new service was not given all master keys")]
    MissingKeys(Vec<String>),
    /// Files are missing or damaged.
    #[error("files are missing or damaged: {count}")]
    MissingFiles {
        /// Number of files.
        count: u64,
        /// Examples, each with the problem.
        examples: Vec<String>,
    },
    /// The number of rows in the target differs: a bug of this program.
    #[error("{written} of {read} rows of {table} were written")]
    Incomplete {
        /// Name of the table.
        table: &'static str,
        /// Number of rows in the source.
        read: u64,
        /// Number of rows in the target.
        written: u64,
    },
}

impl TransferError {
    /// Returns details of the error, one per line.
    pub fn details(&self) -> &[String] {
        match self {
            Self::MissingKeys(keys) => keys,
            Self::MissingFiles { examples, .. } | Self::Users(UserIdsError::Missing { examples, .. }) => {
                examples
            }
            _ => &[],
        }
    }
}
