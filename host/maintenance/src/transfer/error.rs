//! Why a service was not copied.

use kitbag_database::DatabaseError;
use kitbag_files::objects::ObjectsError;
use kitbag_vault::{MasterKeyError, OpenError};
use thiserror::Error;

use super::UserIdsError;

/// Why a service was not copied. Nothing of it was changed, and the target has no rows.
#[derive(Debug, Error)]
pub enum TransferError {
    /// A database cannot be read or written.
    #[error("the database failed: {0}")]
    Database(#[from] DatabaseError),
    /// A store of files cannot be read or written.
    #[error("cannot copy {object}: {cause}")]
    Objects {
        /// The file.
        object: String,
        /// The cause.
        cause: ObjectsError,
    },
    /// A process uses the source.
    #[error("a server uses the database that is to be copied")]
    SourceInUse,
    /// A process uses the target.
    #[error("a server uses the database that is to be copied to")]
    TargetInUse,
    /// There is something in the target.
    #[error("the database that is to be copied to is not empty: there are rows in {0}")]
    NotEmpty(&'static str),
    /// Another issuer signs people in at the target.
    #[error(
        "the users that are to be copied are those of the issuer {recorded}, and the new service trusts {present}, where \
         the same user ids may be other people"
    )]
    OtherIssuer {
        /// Whose users they are.
        recorded: String,
        /// Whom the new service trusts.
        present: String,
    },
    /// The new user ids cannot be used.
    #[error(transparent)]
    Users(#[from] UserIdsError),
    /// The target's keys cannot be read.
    #[error("cannot read the master keys of the new service: {0}")]
    Keys(#[from] OpenError),
    /// The target's keys cannot be read.
    #[error("cannot read the master keys of the new service: {0}")]
    MasterKeys(#[from] MasterKeyError),
    /// The target's keys do not open the secrets.
    #[error("the new service was not given the master keys of all secrets")]
    MissingKeys(Vec<String>),
    /// Files are missing or damaged.
    #[error("files are missing or damaged: {count}")]
    MissingFiles {
        /// How many.
        count: u64,
        /// Some of them, each with what is wrong.
        examples: Vec<String>,
    },
    /// The target has not got all rows of a table. This is a fault of the program.
    #[error("{written} of {read} rows of {table} were written")]
    Incomplete {
        /// The table.
        table: &'static str,
        /// Rows of the source.
        read: u64,
        /// Rows of the target.
        written: u64,
    },
}

impl TransferError {
    /// What is wrong in detail, each on a line of its own.
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
