//! Why a user does not get what they asked for.

use thiserror::Error;

use crate::database::DatabaseError;
use crate::disk::DiskFull;
use crate::dispatch::Unavailable;
use crate::toolkits::ToolkitError;
use crate::user_config::UserConfigError;
use crate::vault::VaultError;

/// The user may not have it, or it cannot be had.
#[derive(Debug, Error)]
pub enum AccessError {
    /// Only operators may do it.
    #[error("Only operators may do this; {0} is not one (setting `operators`).")]
    NotOperator(String),
    /// The toolkit declares no secret of this name.
    #[error("{toolkit} declares no secret {name:?}; it declares {}.", list(.declared))]
    UndeclaredSecret {
        /// The toolkit.
        toolkit: String,
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        declared: Vec<String>,
    },
    /// The user reads as many logs as one user may, or all users together do.
    #[error("Too many logs are being read.")]
    TooManyReaders,
    /// There is no such toolkit for the user, or it cannot be changed.
    #[error(transparent)]
    Toolkit(#[from] ToolkitError),
    /// The secret was not set.
    #[error(transparent)]
    Secrets(#[from] VaultError),
    /// The settings were not changed.
    #[error(transparent)]
    Settings(#[from] UserConfigError),
    /// There is no room on the disk.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// Records cannot be read; the text is for the log.
    #[error("storage failed: {0}")]
    Records(#[source] DatabaseError),
}

/// Why a call has no reply of a tool.
#[derive(Debug, Error)]
pub enum CallError {
    /// The user can see no such tool.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// Our fault; the log says more.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

fn list(declared: &[String]) -> String {
    if declared.is_empty() { "no secrets".to_owned() } else { declared.join(", ") }
}
