//! Configuration file of a client: read once, replaced atomically.
//!
//! Invariant: a file is written only if no symbolic link on its path could have been made by another user,
//! and only if it still has the text that was read.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::cli::error::CliError;

/// Largest file that is accepted as a configuration, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Mode of a new file: clients store keys in the same file.
const NEW_FILE: u32 = 0o600;

/// Owner of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The user's own configuration.
    User,
    /// A project's configuration, which other people may have written.
    Project,
}

/// Configuration file that may not exist yet.
pub(super) struct ConfigFile {
    path: PathBuf,
    text: String,
    mode: Option<u32>,
}

impl ConfigFile {
    /// Reads a file if it exists.
    pub(super) fn open(path: &Path, place: Place) -> Result<Self, CliError> {
        let folder = folder_of(path);
        if place == Place::Project && folder.is_symlink() {
            return Err(CliError::new(format!(
                "{} is a symbolic link: it may lead out of the project",
                folder.display()
            ))
            .hint("name the file itself with --file"));
        }
        let Some(metadata) = metadata(path)? else {
            return Ok(Self { path: path.to_owned(), text: String::new(), mode: None });
        };
        if metadata.is_symlink() {
            let target = fs::read_link(path).unwrap_or_default();
            return Err(CliError::new(format!(
                "{} is a symbolic link to {}",
                path.display(),
                target.display()
            ))
            .hint("to write to that file, name it with --file"));
        }
        if !metadata.is_file() || metadata.len() > MAX_BYTES {
            return Err(CliError::new(format!("{} is not a configuration file", path.display())));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(CliError::new(format!("{} belongs to another user of this machine", path.display())));
        }
        let text = fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
        Ok(Self { path: path.to_owned(), text, mode: Some(metadata.mode() & 0o7777) })
    }

    /// Text of the file; empty if it does not exist.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces the file atomically, with its mode unchanged.
    pub(super) fn replace(self, text: &str) -> Result<(), CliError> {
        let path = &self.path;
        let failed = |error: io::Error| unusable(path, &error);
        let folder = folder_of(path);
        fs::create_dir_all(folder).map_err(failed)?;
        let mut file = Builder::new().prefix(".kitbag-").tempfile_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        let mode = Permissions::from_mode(self.mode.unwrap_or(NEW_FILE));
        file.as_file().set_permissions(mode).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        let changed =
            || CliError::new(format!("{} has changed in the meantime", path.display())).hint("run it again");
        if self.mode.is_none() {
            return file.persist_noclobber(path).map(drop).map_err(|_| changed());
        }
        let is_as_read = metadata(path)?.is_some_and(|now| now.is_file())
            && fs::read_to_string(path).is_ok_and(|now| now == self.text);
        if !is_as_read {
            return Err(changed());
        }
        file.persist(path).map(drop).map_err(|failure| failed(failure.error))
    }
}

/// Returns the metadata of the path itself, without following a symbolic link; `None` if it does not exist.
fn metadata(path: &Path) -> Result<Option<Metadata>, CliError> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn unusable(path: &Path, error: &io::Error) -> CliError {
    CliError::new(format!("cannot use {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_in_the_meantime_stays() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("mcp.json");
        let absent = ConfigFile::open(&path, Place::User).expect("it may be absent");
        fs::write(&path, "{}").expect("a file");
        let present = ConfigFile::open(&path, Place::User).expect("it is there");
        fs::write(&path, "{ }").expect("a file");

        for stale in [absent, present] {
            assert!(stale.replace("{\"a\": 1}").is_err());
            assert_eq!(fs::read_to_string(&path).expect("a file"), "{ }");
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no leftovers");
    }
}
