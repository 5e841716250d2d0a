//! Manifest of a backup. A folder without a readable manifest is not a backup.

use std::io::{Read as _, Write as _};

use kitbag_base::folder::Folder;
use serde::{Deserialize, Serialize};

use super::{BackupError, DATABASE, MASTER_KEY, OTHER_KEYS};

/// Name of the manifest file in a backup.
pub(super) const FILE: &str = "manifest.json";
/// Maximum size, in bytes: a manifest with many missing files has several megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// Description of a backup's contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of the backup format.
    pub format: u32,
    /// Version of the program that created the backup.
    pub program: String,
    /// Time of the backed-up state, with an error of at most seconds: RFC 3339, UTC.
    pub created_at: String,
    /// Schema of the database: the number of its last migration.
    pub schema: i64,
    /// Copy of the database.
    pub database: StoredFile,
    /// Keys that are included in the backup.
    pub keys: Vec<StoredFile>,
    /// Names of the master keys that are needed to decrypt the secrets, and to verify the audit log.
    pub master_keys: Vec<String>,
    /// Description of the master key's source on the server.
    pub master_key_source: String,
    /// Whether the data directory had embedding models, which backups do not include.
    pub had_model: bool,
    /// Numbers of stored items.
    pub counts: Counts,
    /// Paths of files to which rows refer and that were missing or damaged in the data directory, sorted.
    pub missing_files: Vec<String>,
}

/// A file in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Name of the file.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// Numbers of items that users and operators have stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Number of documents of all users.
    pub documents: u64,
    /// Number of secrets of all users.
    pub secrets: u64,
    /// Number of deployed versions of toolkits.
    pub toolkit_versions: u64,
    /// Number of call records.
    pub records: u64,
    /// Number of files to which rows refer.
    pub files: u64,
}

/// The field that decides whether the rest can be read.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Manifest {
    /// Backup format that this program writes, and the newest that it reads.
    pub(super) const FORMAT: u32 = 1;

    /// Writes the manifest into the folder of its backup, durably.
    pub(super) fn write(&self, folder: &Folder) -> Result<(), BackupError> {
        let path = folder.path().join(FILE);
        let text = serde_json::to_vec_pretty(self).expect("strings and numbers can be written as JSON");
        let write = || {
            let mut file = folder.create_file(FILE)?;
            file.write_all(&text)?;
            file.sync_all()?;
            folder.sync()
        };
        write().map_err(BackupError::file(&path))
    }

    /// Reads the manifest of the backup `name`.
    pub(super) fn read(folder: &Folder, name: &str) -> Result<Self, BackupError> {
        let unusable = |reason: String| BackupError::Unusable { name: name.to_owned(), reason };
        let mut text = String::new();
        let read = folder.open_file(FILE).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        read.map_err(|error| unusable(format!("its {FILE} cannot be read: {error}")))?;
        Self::parse(&text, name)
    }

    /// Parses the text of the manifest of the backup `name`.
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, BackupError> {
        let unusable = |reason: String| BackupError::Unusable { name: name.to_owned(), reason };
        let unreadable = |error: serde_json::Error| unusable(format!("its {FILE} is damaged: {error}"));
        let Format { format } = serde_json::from_str(text).map_err(unreadable)?;
        if format > Self::FORMAT {
            return Err(unusable(format!(
                "it has format {format}, and this program reads formats up to {}",
                Self::FORMAT
            )));
        }
        let manifest: Self = serde_json::from_str(text).map_err(unreadable)?;
        // Names become paths, so only known ones are accepted.
        let is_key = |key: &StoredFile| key.name == MASTER_KEY || OTHER_KEYS.contains(&key.name.as_str());
        if manifest.database.name == DATABASE && manifest.keys.iter().all(is_key) {
            Ok(manifest)
        } else {
            Err(unusable(format!("its {FILE} names files that are no part of a backup")))
        }
    }
}
