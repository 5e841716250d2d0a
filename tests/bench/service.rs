//! A service whose users sign in elsewhere: its data, and who signs their tokens. Others run its processes.

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

/// May deploy toolkits.
pub(crate) const OPERATOR: &str = "operator";

/// What has the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// Deleted when it is dropped, except for a PostgreSQL database.
pub(crate) struct Service {
    folder: TempDir,
    database: Option<Url>,
    issuer: Issuer,
    address: SocketAddr,
}

impl Service {
    /// A new service, which users reach at this address.
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

    /// The URL of its database, unless that is a file.
    pub(crate) fn database(&self) -> Option<&Url> {
        self.database.as_ref()
    }

    /// The issuer of its users' tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.issuer.url()
    }

    /// Where users reach it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file with the key that opens secrets.
    pub(crate) fn master_key(&self) -> PathBuf {
        self.folder.path().join("master-key")
    }

    /// The folder with components and captured files.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    /// The data directory of a process, which is created if missing.
    pub(crate) fn data(&self, process: &str) -> Outcome<PathBuf> {
        let data = self.folder.path().join(process);
        fs::create_dir_all(&data)?;
        // A server refuses a data directory that other users can access.
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
        Ok(data)
    }

    /// What its users know it by, without a slash at the end.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// An access token of a user.
    pub(crate) fn token(&self, user: &str) -> Outcome<String> {
        self.issuer.token(&self.base_url(), user)
    }
}

/// Where nobody listens.
pub(crate) fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
