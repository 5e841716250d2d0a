//! Backups of a data directory: the database by its engine's online backup, files by their hash.
//!
//! ```text
//! DIR/lock                                  locked by a running backup or restore
//! DIR/files/<first two digits>/<sha256>     files of all backups, each once
//! DIR/2026-11-23T04-26-32Z/kitbag.sqlite    the database of one backup
//! DIR/2026-11-23T04-26-32Z/keys/…           only where asked for
//! DIR/2026-11-23T04-26-32Z/manifest.json    written last
//! DIR/2026-11-24T04-26-30Z.unfinished/…     becomes a backup when it is complete; else the next one removes it
//! ```
//!
//! Invariants:
//! - a backup with its final name is complete: it has a manifest, its database is intact, and each file to which a
//!   row of that database refers is in `files`, except those that the manifest lists as missing, which the data
//!   directory lacked too;
//! - each file in `files` is checked against its name when it is copied, and again before it is restored;
//! - a restore writes to the data directory only after everything is checked, and writes the database last.
//!
//! The first invariant holds although a server writes and deletes meanwhile: a server deletes a file only
//! after it has committed that no row refers to it. So under the database's write lock, each file that a row
//! names can be opened, and an open file stays readable after its deletion. `copier` copies most files
//! without the lock; then it takes the lock briefly, freezes the database, and opens the few files that are
//! still missing.

mod copier;
mod create;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod job;
mod keys;
mod manifest;
mod repository;
mod restore;
mod store;
mod target;
#[cfg(test)]
mod tests;

pub use create::{Created, create};
pub use error::BackupError;
pub use job::{Job, KeyCopies};
pub use manifest::{Counts, Manifest};
pub use repository::{Found, list};
pub use restore::{Damaged, Purpose, RestoreJob, Restored, restore};

use kitbag_base::folder::Folder;
use kitbag_database::Database;
use rustix::fs::statvfs;

/// Steps that report progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copies files into the backup.
    CopyFiles,
    /// Copies the database.
    CopyDatabase,
    /// Checks files of a backup.
    CheckFiles,
    /// Copies files into the data directory.
    PlaceFiles,
}

/// Progress callback: the step, the amount done, and the total.
pub type Progress<'a> = dyn FnMut(Step, u64, u64) + 'a;

/// Name of the database file, in a backup and in a data directory.
const DATABASE: &str = Database::FILE;
/// Folder for keys in a backup.
const KEYS: &str = "keys";
/// Name of the master key file, in a data directory and in a backup.
const MASTER_KEY: &str = "master-key";
/// Other files of a data directory that cannot be recreated: the signing key and the sign-in code of local
/// mode. If they are replaced by new ones, all users have to sign in again.
const OTHER_KEYS: [&str; 2] = ["local-issuer.p8", "sign-in-code"];

/// Fails if the disk that contains a folder has too few free bytes.
fn require_room(folder: &Folder, needed: u64) -> Result<(), BackupError> {
    let disk = statvfs(folder.path()).map_err(|error| BackupError::file(folder.path())(error.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let folder = folder.path().to_owned();
    if free < needed { Err(BackupError::NoRoom { folder, needed, free }) } else { Ok(()) }
}
