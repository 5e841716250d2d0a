//! Errors of the files of the local issuer.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kitbag_database::DatabaseError;

/// Error of reading or creating the signing key or the sign-in code.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LocalIssuerError {
    /// The file cannot be read or written.
    #[error("{path} cannot be read or written: {source}", path = .path.display())]
    File {
        /// File of the key or code.
        path: PathBuf,
        /// Error of the file system.
        source: Arc<io::Error>,
    },
    /// The file is accessible to other users of the machine, who could have used it to sign in as any user.
    #[error("{path} is open to other users of this machine, and they may have read it: delete it to get a new one; everybody then signs in again", path = .path.display())]
    Exposed {
        /// File of the key or code.
        path: PathBuf,
    },
    /// The file does not contain a usable P-256 key in PKCS#8.
    #[error("{path} holds no signing key: delete it to get a new one", path = .path.display())]
    Malformed {
        /// The key's file.
        path: PathBuf,
    },
    /// The file does not contain 32 hexadecimal digits.
    #[error("{path} holds no sign-in code: delete it to get a new one", path = .path.display())]
    NoCode {
        /// The code's file.
        path: PathBuf,
    },
    /// Grants could not be revoked.
    #[error("the database cannot be written: {0}")]
    Storage(Arc<DatabaseError>),
}
