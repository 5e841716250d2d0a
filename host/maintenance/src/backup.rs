//! Backups of a data directory: the database by the online backup of its engine, files by their hash.
//!
//! ```text
//! DIR/lock                                  held by the backup that is running
//! DIR/files/<first two digits>/<sha256>     files of all backups, each once
//! DIR/2026-11-23T04-26-32Z/kitbag.sqlite    the database of one backup
//! DIR/2026-11-23T04-26-32Z/keys/…           only where asked for
//! DIR/2026-11-23T04-26-32Z/manifest.json    written last
//! DIR/2026-11-24T04-26-30Z.unfinished/…     becomes a backup when it is complete; else the next one removes it
//! ```
//!
//! Invariants:
//! - a backup that has its final name is complete: it has a manifest, its database is whole, and each file to which a
//!   row of that database refers is in `files`, except those that the manifest lists as missing, which the data
//!   directory did not have either;
//! - each file in `files` was checked against its name when it was copied, and before it is put in place;
//! - a restore puts nothing in place before everything is checked, and the database last.
//!
//! Why the first holds although a server writes and deletes meanwhile: a server deletes a file only after it has committed
//! that nothing refers to it. So under the database's write lock, each file that a row names can be opened, and an open
//! file can be read although it is deleted. `copier` copies what it can without
//! the lock; then it takes the lock for a moment, freezes the database, and opens the few files that are still missing.

mod copier;
mod create;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod manifest;
mod repository;
mod restore;
mod store;
mod target;
#[cfg(test)]
mod tests;

pub use create::{Created, Job, create};
pub use error::BackupError;
pub use keys::KeyCopies;
pub use manifest::{Counts, Manifest};
pub use repository::{Found, list};
pub use restore::{Damaged, Purpose, RestoreJob, Restored, restore};

use kitbag_base::folder::Folder;
use kitbag_database::Database;
use rustix::fs::statvfs;

/// Work of which a command reports how much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Files are copied into the backup.
    CopyFiles,
    /// The database is copied.
    CopyDatabase,
    /// Files of a backup are checked.
    CheckFiles,
    /// Files are put in place.
    PlaceFiles,
}

/// Is told the step, and how much of how much is done.
pub type Progress<'a> = dyn FnMut(Step, u64, u64) + 'a;

/// The database in a backup and in a data directory.
const DATABASE: &str = Database::FILE;
/// The folder for keys in a backup.
const KEYS: &str = "keys";
/// The master key in a data directory and in a backup.
const MASTER_KEY: &str = "master-key";
/// Other files of a data directory that cannot be made again: the signing key and the sign-in code of local mode. With
/// others in their place, everybody has to sign in again.
const OTHER_KEYS: [&str; 2] = ["local-issuer.p8", "sign-in-code"];

/// Fails if the disk of a folder has fewer free bytes.
fn require_room(folder: &Folder, needed: u64) -> Result<(), BackupError> {
    let disk = statvfs(folder.path()).map_err(|error| BackupError::file(folder.path())(error.into()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let folder = folder.path().to_owned();
    if free < needed { Err(BackupError::NoRoom { folder, needed, free }) } else { Ok(()) }
}
