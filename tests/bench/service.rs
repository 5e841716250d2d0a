//! Service with an external issuer: its data, and the signer of its users' tokens. The caller runs its
//! processes.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use tempfile::TempDir;
use url::Url;

use crate::Outcome;
use crate::issuer::Issuer;
use crate::postgres;

/// Id of the user who may deploy toolkits.
pub(crate) const OPERATOR: &str = "operator";

/// What has the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// Data of a service. Deleted when dropped, except for a PostgreSQL database.
pub(crate) struct Service {
    folder: TempDir,
    database: Option<Url>,
    issuer: Issuer,
    address: SocketAddr,
}

impl Service {
    /// Creates a service that users reach at this address.
    pub(crate) fn create(engine: Engine, address: SocketAddr) -> Outcome<Self> {
        let folder = tempfile::Builder::new().prefix("kitbag-bench-").tempdir()?;
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => {
                let server = postgres::server()
                    .ok_or("there is no PostgreSQL server: `scripts/with-postgres` runs one")?;
                let name = folder
                    .path()
                    .file_name()
                    .and_then(|name| name.to_str())
                    .ok_or("the folder has a name")?;
                Some(postgres::create_database(&server, name)?)
            }
        };
        let service = Self { folder, database, issuer: Issuer::start()?, address };
        fs::write(service.master_key(), hex::encode([7; 32]))?;
        fs::set_permissions(service.master_key(), fs::Permissions::from_mode(0o600))?;
        Ok(service)
    }

    /// URL of the PostgreSQL database; `None` with `SQLite`.
    pub(crate) fn database(&self) -> Option<&Url> {
        self.database.as_ref()
    }

    /// Issuer of the users' tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.issuer.url()
    }

    /// Address that users connect to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Path of the master key of the vault.
    pub(crate) fn master_key(&self) -> PathBuf {
        self.folder.path().join("master-key")
    }

    /// Folder of components and captured files.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    /// Data directory of a process; created if missing.
    pub(crate) fn data(&self, process: &str) -> Outcome<PathBuf> {
        let data = self.folder.path().join(process);
        fs::create_dir_all(&data)?;
        // A server rejects a data directory that other users can access.
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
        Ok(data)
    }

    /// Base URL of the service, without a trailing slash.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Signs an access token for a user.
    pub(crate) fn token(&self, user: &str) -> Outcome<String> {
        self.issuer.token(&self.base_url(), user)
    }
}

/// Local address with a free port.
pub(crate) fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
