//! Keys of a data directory that are included in a backup on request.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use kitbag_base::folder::Folder;
use kitbag_base::sha256::Sha256;
use kitbag_database::Database;
use kitbag_vault::{KeySource, SecretsCheck};
use secrecy::zeroize::Zeroizing;

use super::job::{Job, KeyCopies};
use super::manifest::StoredFile;
use super::{BackupError, KEYS, MASTER_KEY, OTHER_KEYS};

/// Maximum size of a key file, in bytes. The buffer never grows: growing would leave copies of the key in
/// memory.
const KEY_CAPACITY: usize = 64 << 10;

/// Content of a key file, with its name in the backup.
pub(super) type Key = (&'static str, Zeroizing<Vec<u8>>);

/// Reads the keys to include in the backup. Missing files are skipped.
pub(super) fn read(job: &Job, data: &Folder) -> Result<Vec<Key>, BackupError> {
    if job.keys == KeyCopies::LeftOut {
        return Ok(Vec::new());
    }
    let read_one = |name, path: PathBuf, opened: io::Result<File>| {
        let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_CAPACITY));
        match opened.and_then(|file| file.take(KEY_CAPACITY as u64).read_to_end(&mut bytes)) {
            Ok(_) => Ok(Some((name, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BackupError::file(&path)(error)),
        }
    };
    let mut keys = Vec::new();
    if let Some(path) = &job.master_key {
        keys.extend(read_one(MASTER_KEY, path.clone(), File::open(path))?);
    }
    for name in OTHER_KEYS {
        keys.extend(read_one(name, data.path().join(name), data.open_file(name))?);
    }
    Ok(keys)
}

/// Writes keys into the folder of a backup.
pub(super) fn keep(keys: &[Key], backup: &Folder) -> Result<Vec<StoredFile>, BackupError> {
    let mut kept = Vec::new();
    for (name, bytes) in keys {
        let write = || {
            let folder = backup.make_subfolder(KEYS)?;
            let mut file = folder.create_file(name)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            folder.sync()
        };
        write().map_err(BackupError::file(&backup.path().join(KEYS).join(name)))?;
        let sha256 = hex::encode(Sha256::digest(bytes.as_slice()));
        kept.push(StoredFile { name: (*name).to_owned(), size: bytes.len() as u64, sha256 });
    }
    Ok(kept)
}

/// Decrypts each secret of the copied database with the copied master key, if it was copied.
pub(super) async fn check(
    copy: &Database,
    keys: &[StoredFile],
    backup: &Folder,
) -> Result<Option<SecretsCheck>, BackupError> {
    if !keys.iter().any(|key| key.name == MASTER_KEY) {
        return Ok(None);
    }
    let path = backup.path().join(KEYS).join(MASTER_KEY);
    let checked = kitbag_vault::check_secrets(copy, &KeySource::File(path.clone())).await;
    checked.map(Some).map_err(|error| BackupError::File { path, cause: io::Error::other(error.to_string()) })
}
