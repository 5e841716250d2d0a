//! PostgreSQL server started by `scripts/with-postgres`.

use std::path::PathBuf;
use std::process::Command;

use url::Url;

use crate::Outcome;

/// URL of the server's default database; `None` without a server.
pub(crate) fn server() -> Option<Url> {
    std::env::var("TEST_DATABASE").ok()?.parse().ok()
}

/// Creates an empty database with this name, and returns its URL.
pub(crate) fn create_database(server: &Url, name: &str) -> Outcome<Url> {
    let programs = std::env::var_os("TEST_POSTGRES").ok_or("`scripts/with-postgres` sets TEST_POSTGRES")?;
    let create = Command::new(PathBuf::from(programs).join("createdb"))
        .arg(format!("--maintenance-db={server}"))
        .args(["--template=template0", name])
        .output()?;
    if !create.status.success() {
        return Err(format!("no database was created: {}", String::from_utf8_lossy(&create.stderr)).into());
    }
    let mut url = server.clone();
    url.set_path(name);
    Ok(url)
}
