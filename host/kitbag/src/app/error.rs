//! Errors when a server starts.

use std::io;
use std::path::PathBuf;

use kitbag_base::ownership::DirectoryError;
use kitbag_database::DatabaseError;
use kitbag_database::peers::JoinError;
use kitbag_files::objects::ObjectsError;
use kitbag_identity::{InvalidSettings, IssuerChange, LocalIssuerError};
use kitbag_knowledge::{KnowledgeError, ModelError};
use kitbag_net::certificate::CertificateError;
use kitbag_sandbox::EngineError;
use kitbag_toolkits::ToolkitError;
use kitbag_vault::OpenError;
use thiserror::Error;

use super::listeners::ListenError;
use crate::settings::SettingsError;

/// Reasons why a server cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error("cannot use the data directory {path}: {cause}")]
    Data {
        /// The directory.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// Other users can access the data directory.
    #[error("cannot use the data directory: {0}")]
    Directory(#[from] DirectoryError),
    /// An interrupted restore left an incomplete backup in the data directory.
    #[error(
        "a restore into {0} was interrupted: run the same `kitbag restore` again, or name another directory"
    )]
    UnfinishedRestore(PathBuf),
    /// Another server uses the data directory.
    #[error("another server is running on the data directory {0}")]
    InUse(PathBuf),
    /// No connections can be accepted.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The certificate cannot be used.
    #[error("cannot use the certificate (the settings tls-certificate and tls-key): {0}")]
    Certificate(#[from] CertificateError),
    /// The database cannot be opened.
    #[error("cannot open the database: {0}")]
    Database(#[from] DatabaseError),
    /// The records of calls cannot be opened.
    #[error("cannot open the records of calls: {0}")]
    Records(#[from] kitbag_toolkits::invocations::OpenError),
    /// Anchors of the audit log cannot be appended to their file.
    #[error("cannot write to {path} (the setting audit-anchor): {cause}")]
    Anchor {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// The store of files cannot be used.
    #[error("cannot use the store of components and captured files (the setting objects): {0}")]
    Objects(#[from] ObjectsError),
    /// Incompatible with other processes that use the database.
    #[error("cannot join the other processes of this service: {0}")]
    Join(#[from] JoinError),
    /// The sandbox engine cannot be started.
    #[error("cannot start the sandbox: {0}")]
    Sandbox(#[from] EngineError),
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    /// Sign-in cannot be set up.
    #[error("cannot set up sign-in: {0}")]
    Identity(#[from] InvalidSettings),
    /// The users in the data directory belong to another issuer.
    #[error(transparent)]
    Issuer(#[from] IssuerChange),
    /// The local issuer's key, or its sign-in code, cannot be read or created.
    #[error("cannot set up local sign-in: {0}")]
    LocalIssuer(#[from] LocalIssuerError),
    /// The settings contradict each other, or refer to something missing.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The vault cannot be opened.
    #[error("cannot open the vault: {0}")]
    Vault(#[from] OpenError),
    /// The knowledge base cannot be read.
    #[error("cannot open the knowledge base: {0}")]
    Knowledge(#[from] KnowledgeError),
    /// The model of the knowledge base cannot be used.
    #[error(
        "{0}\n(`kitbag model list` shows models that work, `kitbag model fetch` gets one, and `--model none` searches by words alone)"
    )]
    Model(#[from] ModelError),
    /// The settings name a model of the catalogue that is not in the data directory.
    #[error("the model {name} is not there: `kitbag model fetch {name}` puts it into {folder}")]
    ModelNotFetched {
        /// Name of the model in the catalogue.
        name: &'static str,
        /// Expected folder in the data directory.
        folder: PathBuf,
    },
    /// The deployed toolkits cannot be read.
    #[error("cannot read the deployed toolkits: {0}")]
    Toolkits(#[from] ToolkitError),
}
