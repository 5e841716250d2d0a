//! Opens the sign-in code at the start of a server. If the code has changed, revokes everything granted under
//! the old one: grants of clients, browser sessions, program keys, and, by a new signing key, access tokens.
//!
//! Invariant: after the code was deleted or replaced and the server restarted, no access gained with the old
//! code remains.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use kitbag_base::private_file;
use kitbag_database::Database;

use super::issuer_error::LocalIssuerError;
use super::key_file;
use super::sign_in_code::SignInCode;
use super::store::Store;

/// File with the SHA-256 of the code under which grants, sessions and the signing key were created.
const FILE: &str = "sign-in-code.sha256";

impl SignInCode {
    /// Returns the code of this data directory, creating it if there is none. Call before the signing key is
    /// read.
    pub async fn open(data_directory: &Path, database: &Database) -> Result<Self, LocalIssuerError> {
        let path = data_directory.join(FILE);
        let failed = |source| LocalIssuerError::File { path: path.clone(), source: Arc::new(source) };
        let recorded = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A damaged file matches no code.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(String::new()),
            Err(error) => return Err(failed(error)),
        };
        let code = Self::read(data_directory)?;
        // A restored backup contains the code but not its digest.
        let is_same = code.as_ref().is_some_and(|code| recorded.is_none_or(|digest| digest == code.digest()));
        let code = match code {
            Some(code) if is_same => code,
            code => {
                // The digest is written last: after a crash, all steps are repeated.
                let revoked = Store::new(database.clone()).revoke_all().await;
                revoked.map_err(|error| LocalIssuerError::Storage(Arc::new(error)))?;
                key_file::remove(data_directory)?;
                match code {
                    Some(code) => code,
                    None => Self::create(data_directory)?,
                }
            }
        };
        private_file::replace(&path, code.digest().as_bytes()).map_err(failed)?;
        Ok(code)
    }
}
