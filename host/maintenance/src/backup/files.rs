//! The folder that all backups share: files named by their SHA-256.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use kitbag_base::folder::Folder;
use kitbag_base::sha256::{Digest, Sha256};
use kitbag_files::stored_files::{digest, digest_of};

use super::BackupError;

/// Name of the folder.
const FOLDER: &str = "files";
/// Size of a chunk for copying, in bytes.
const CHUNK_BYTES: usize = 256 << 10;

/// The files of all backups of a repository.
#[derive(Debug)]
pub(super) struct Files(Folder);

/// The result of a copy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// The copy is complete, and has the expected hash.
    Whole {
        /// Size in bytes.
        bytes: u64,
    },
    /// The source cannot be read, or its bytes do not match its name.
    DamagedSource(String),
}

impl Files {
    /// Opens the folder, creating it if it is missing.
    pub(super) fn make(repository: &Folder) -> Result<Self, BackupError> {
        let made = repository.make_subfolder(FOLDER);
        made.map(Self).map_err(BackupError::file(&repository.path().join(FOLDER)))
    }

    /// Opens the existing folder.
    pub(super) fn open(repository: &Folder) -> Result<Self, BackupError> {
        let opened = repository.subfolder(FOLDER);
        opened.map(Self).map_err(BackupError::file(&repository.path().join(FOLDER)))
    }

    /// Whether a file of this name exists. Files are checked when they are copied.
    pub(super) fn has(&self, name: &str) -> bool {
        let found = self.0.subfolder(group(name)).and_then(|folder| folder.status(name));
        found.is_ok_and(|status| status.file_type.is_file())
    }

    /// Opens a file for reading.
    pub(super) fn read(&self, name: &str) -> io::Result<File> {
        self.0.subfolder(group(name))?.open_file(name)
    }

    /// Copies a file here, durably, if its bytes match its name. It is first written to the folder
    /// `unfinished`.
    pub(super) fn add(&self, source: File, name: &str, unfinished: &Folder) -> Result<Copied, BackupError> {
        let failed = || BackupError::file(&self.path(name));
        let mut file = unfinished.create_file(name).map_err(failed())?;
        let copied = copy(source, &mut file, name).map_err(failed())?;
        let keep = || {
            if matches!(copied, Copied::DamagedSource(_)) {
                return unfinished.remove_file(name).map(drop);
            }
            file.sync_all()?;
            let folder = self.0.make_subfolder(group(name))?;
            unfinished.rename(name, &folder, name)?;
            folder.sync()
        };
        keep().map_err(failed())?;
        Ok(copied)
    }

    /// Checks a file against its name. Returns its size, or the problem.
    pub(super) fn check(&self, name: &str) -> Result<u64, String> {
        match self.read(name).and_then(|mut file| digest(&mut file)) {
            Ok((found, size)) if Some(found) == digest_of(name) => Ok(size),
            Ok(_) => Err("its bytes are not those that its name says".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Makes new names durable.
    pub(super) fn sync(&self) -> Result<(), BackupError> {
        self.0.sync().map_err(BackupError::file(self.0.path()))
    }

    /// Removes all files except `kept`. Returns the number of removed files.
    pub(super) fn remove_all_but(&self, kept: &HashSet<Digest>) -> Result<u64, BackupError> {
        let failed = || BackupError::file(self.0.path());
        let mut removed = 0;
        for group in self.0.names().map_err(failed())? {
            // Anything but a folder was not created by this program.
            let Ok(folder) = self.0.subfolder(&group.map_err(failed())?) else { continue };
            for name in folder.names().map_err(failed())? {
                let name = name.map_err(failed())?;
                if digest_of(&name).is_some_and(|digest| !kept.contains(&digest)) {
                    removed += u64::from(folder.remove_file(&name).map_err(failed())?);
                }
            }
        }
        Ok(removed)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(group(name)).join(name)
    }
}

/// Copies a file whose SHA-256 is `name`. Returns an error only for `target`.
pub(super) fn copy(mut source: File, target: &mut File, name: &str) -> io::Result<Copied> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut bytes = 0;
    loop {
        match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                hasher.update(&chunk[..read]);
                target.write_all(&chunk[..read])?;
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok(Copied::DamagedSource(error.to_string())),
        }
    }
    if digest_of(name) == Some(hasher.finish()) {
        Ok(Copied::Whole { bytes })
    } else {
        Ok(Copied::DamagedSource("its bytes are not those that its name says".to_owned()))
    }
}

/// Returns the subfolder of a file: the first two digits of its name.
fn group(name: &str) -> &str {
    name.get(..2).unwrap_or_default()
}
