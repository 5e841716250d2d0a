//! `kitbag logout`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use url::Url;

use super::client::which_server;
use super::error::CliError;
use super::output::report;
use super::session::SessionFile;
use super::terminal::say;

/// End the session at a server.
#[derive(Args, Debug)]
pub(super) struct Logout {
    /// URL of the server; by default the one with a session.
    #[arg(long, env = "KITBAG_SERVER")]
    server: Option<Url>,
    /// Data directory of a local server, which is then meant; by default kitbag-data.
    #[arg(long, env = "KITBAG_DATA")]
    data: Option<PathBuf>,
}

impl Logout {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let server = which_server(self.server, self.data.as_deref())?;
        let nobody = || CliError::new(format!("nobody is signed in at {server}"));
        let mut locked = SessionFile::of_this_user().ok_or_else(nobody)?.lock().await?;
        let session = locked.sessions.remove(&server).ok_or_else(nobody)?;
        locked.store()?;
        drop(locked);
        report(&json!({ "server": server }), || say!("Signed out of {}.", server))?;
        // The session has been removed from the file, whatever the issuer responds.
        session.revoke().await.map_err(|error| {
            CliError::new(format!("{} may still renew the session: {error}", session.issuer))
        })
    }
}
