//! File with the user's sessions, readable by its owner only.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};
use kitbag_base::base_url::path_of;
use kitbag_base::ownership::{self, Protection, shell_quoted};
use kitbag_base::private_file;
use serde::{Deserialize, Serialize};
use url::Url;

use super::Session;
use crate::cli::error::CliError;

/// `$XDG_STATE_HOME/kitbag/sessions.json`.
#[derive(Clone)]
pub(in crate::cli) struct SessionFile {
    path: PathBuf,
}

/// Sessions by origin of the server.
#[derive(Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(in crate::cli) struct Sessions(BTreeMap<String, Session>);

/// Sessions, locked against changes by other processes.
pub(in crate::cli) struct Locked {
    pub(in crate::cli) sessions: Sessions,
    file: SessionFile,
    _lock: File,
}

impl SessionFile {
    /// File of the current user; `None` for a user without a home directory.
    pub(in crate::cli) fn of_this_user() -> Option<Self> {
        let folders = choose_base_strategy().ok()?;
        let state = folders.state_dir().unwrap_or_else(|| folders.data_dir());
        Some(Self { path: state.join("kitbag").join("sessions.json") })
    }

    /// Reads the current sessions. The file is replaced atomically, so no lock is needed.
    pub(in crate::cli) fn read(&self) -> Result<Sessions, CliError> {
        match private_file::is_exposed(&self.path) {
            Ok(false) => {}
            Ok(true) => {
                let path = self.path.display();
                let argument = shell_quoted(&self.path);
                return Err(CliError::new(format!(
                    "other users of this machine may read your sessions in {path}"
                ))
                .hint(format!("`chmod 600 {argument}`, or delete it and sign in again")));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Sessions::default()),
            Err(error) => return Err(self.unusable(&error)),
        }
        let text = ownership::read(&self.path, Protection::Private).map_err(|distrust| {
            let path = self.path.display();
            CliError::new(format!("your sessions cannot be used: {distrust}"))
                .hint(distrust.remedy().unwrap_or_else(|| format!("delete {path} and sign in again")))
        })?;
        let Some(text) = text else { return Ok(Sessions::default()) };
        serde_json::from_str(&text).map_err(|error| self.unusable(&error))
    }

    /// Locks the sessions against other processes, and reads them.
    pub(in crate::cli) async fn lock(&self) -> Result<Locked, CliError> {
        let folder = self.path.parent().unwrap_or(Path::new(".")).to_owned();
        let lock = tokio::task::spawn_blocking(move || {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            // A separate lock file: the session file itself is replaced, and a lock on it would be lost.
            let lock = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                .open(folder.join("sessions.lock"))?;
            lock.lock().map(|()| lock)
        });
        let lock = lock.await.map_err(io::Error::other).and_then(|locked| locked);
        let lock = lock.map_err(|error| self.unusable(&error))?;
        Ok(Locked { sessions: self.read()?, file: self.clone(), _lock: lock })
    }

    fn unusable(&self, error: &dyn std::error::Error) -> CliError {
        let path = self.path.display();
        CliError::new(format!("cannot use {path}, which keeps your sessions: {error}"))
            .hint(format!("if it is damaged, delete {path} and sign in again"))
    }
}

impl Sessions {
    pub(in crate::cli) fn get(&self, server: &Url) -> Option<&Session> {
        self.0.get(&key(server))
    }

    pub(in crate::cli) fn get_mut(&mut self, server: &Url) -> Option<&mut Session> {
        self.0.get_mut(&key(server))
    }

    pub(in crate::cli) fn insert(&mut self, server: &Url, session: Session) -> Option<Session> {
        self.0.insert(key(server), session)
    }

    pub(in crate::cli) fn remove(&mut self, server: &Url) -> Option<Session> {
        self.0.remove(&key(server))
    }

    /// URLs of all servers with a session.
    pub(in crate::cli) fn servers(&self) -> Vec<Url> {
        self.0.keys().filter_map(|origin| origin.parse().ok()).collect()
    }
}

impl Locked {
    /// Writes the changed sessions, atomically and durably.
    pub(in crate::cli) fn store(&self) -> Result<(), CliError> {
        let text = serde_json::to_vec_pretty(&self.sessions).map_err(|error| self.file.unusable(&error))?;
        private_file::replace(&self.file.path, &text).map_err(|error| self.file.unusable(&error))
    }
}

fn key(server: &Url) -> String {
    format!("{}{}", server.origin().ascii_serialization(), path_of(server))
}
