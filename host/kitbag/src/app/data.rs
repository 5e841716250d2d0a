//! The data directory: its lock, its permissions, and its disk.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use kitbag_base::disk::Disk;
use kitbag_base::ownership;
use kitbag_files::stored_files::has_unfinished_restore;
use tokio::task::spawn_blocking;

use super::error::StartError;
use crate::settings::Settings;

/// Locks the data directory, after creating it or checking that only its owner can access it.
pub(super) fn claim(data: &Path) -> Result<File, StartError> {
    let failed = |cause| StartError::Data { path: data.to_owned(), cause };
    ownership::claim_directory(data)?;
    if has_unfinished_restore(data) {
        return Err(StartError::UnfinishedRestore(data.to_owned()));
    }
    let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(data.join("lock"));
    let lock = lock.map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(data.to_owned())),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// Starts to monitor the free space of the disk with this folder.
pub(super) fn watched_disk(settings: &Settings, folder: &Path) -> Result<Disk, StartError> {
    let reserve = settings.free_disk_space.get().map(|size| size.bytes() as u64);
    let disk = Disk::new(folder, reserve);
    let disk = disk.map_err(|cause| StartError::Data { path: folder.to_owned(), cause })?;
    disk.watch();
    Ok(disk)
}

/// Restricts the data directory to its owner.
pub(super) async fn restrict_permissions(data: &Path) -> Result<(), StartError> {
    let directory = data.to_owned();
    spawn_blocking(move || ownership::restrict_permissions(&directory))
        .await
        .map_err(io::Error::other)
        .and_then(|restricted| restricted)
        .map_err(|cause| StartError::Data { path: data.to_owned(), cause })
}
