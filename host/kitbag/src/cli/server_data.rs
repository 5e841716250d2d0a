//! Data directory that a command works on, and the source of its server's master keys.

use std::path::PathBuf;

use clap::Args;
use kitbag_files::objects::Location;
use kitbag_vault::KeySource;

use super::error::CliError;
use crate::app::{key_source, objects_location};
use crate::settings::{DatabaseLocation, MasterKey, Settings, Sources};

/// Which data directory, and the settings of its server that matter here.
#[derive(Args, Debug)]
pub(super) struct ServerData {
    /// File with the server's settings; by default kitbag.toml, where it exists.
    #[arg(long, env = "KITBAG_CONFIG")]
    config: Option<PathBuf>,
    /// The server's data directory; by default what the settings say.
    #[arg(long, env = "KITBAG_DATA")]
    data: Option<PathBuf>,
    /// Where the server has its master key, if it was given a flag: `file:PATH`, `env:VARIABLE` or `command:LINE`.
    #[arg(long, env = "KITBAG_MASTER_KEY", hide_env_values = true)]
    master_key: Option<MasterKey>,
}

impl ServerData {
    /// Loads the settings that a server started here with these flags would have.
    pub(super) fn settings_of_server(&self) -> Result<Settings, CliError> {
        let failed = |error: &dyn std::fmt::Display| CliError::new(error.to_string());
        let sources = Sources::of_environment().map_err(|error| failed(&error))?;
        let sources = sources.with_data(self.data.clone()).with_master_key(self.master_key.clone());
        Settings::load(sources, self.config.as_deref()).map_err(|error| failed(&error))
    }

    /// Like [`settings_of_server`](Self::settings_of_server), but fails unless the database is in the data
    /// directory.
    pub(super) fn settings(&self) -> Result<Settings, CliError> {
        let settings = self.settings_of_server()?;
        if let DatabaseLocation::Server(_) = settings.database {
            return Err(CliError::new(
                "the database is a server's, and this command reads the data directory alone",
            )
            .hint(
                "back the database up with its own tools (pg_dump), and then the bucket or folder of files",
            ));
        }
        Ok(settings)
    }
}

/// Folder of components and captured files.
pub(super) fn files(settings: &Settings) -> Result<PathBuf, CliError> {
    match objects_location(settings) {
        Location::Folder(folder) => Ok(folder),
        Location::Bucket(_) => Err(CliError::new("components and captured files are in a bucket")
            .hint("back it up with its own tools, together with the database")),
    }
}

/// Source of the master keys.
pub(super) fn keys(settings: &Settings) -> Result<KeySource, CliError> {
    key_source(settings).map_err(|error| {
        CliError::new(error.to_string()).hint("run this command with the environment of the server")
    })
}

/// Describes the source of the master keys for people. A command is not quoted: it may contain a password.
pub(super) fn describe_keys(settings: &Settings) -> String {
    match &settings.master_key {
        MasterKey::File(path) => {
            let path = path.clone().unwrap_or_else(|| settings.data.join("master-key"));
            // Absolute: the text may be read later and in another folder.
            format!("the file {}", std::path::absolute(&path).unwrap_or(path).display())
        }
        MasterKey::Variable(name) => format!("the environment variable {name}"),
        MasterKey::Command(_) => "the command of the server's setting master-key".to_owned(),
        MasterKey::Invalid => "an invalid setting master-key".to_owned(),
    }
}
