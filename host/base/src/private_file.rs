//! Files that hold a key: for their owner alone, and never seen half-written.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes a file with mode 0600 under another name and links it into place, durably. A file that is
/// already there stays: of two processes that start at once one wins, and both use its key.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match write_beside(path, bytes)?.persist_noclobber(path) {
        Ok(_) => sync_folder_of(path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// Replaces a file in one step, durably; the new one has mode 0600.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_beside(path, bytes)?.persist(path)?;
    sync_folder_of(path)
}

/// Whether other users of this machine may read the file, or write to it.
pub fn is_exposed(path: &Path) -> io::Result<bool> {
    const OTHER_USERS: u32 = 0o077;

    Ok(fs::metadata(path)?.permissions().mode() & OTHER_USERS != 0)
}

/// Temporary files are made with mode 0600.
fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder_of(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// A rename is durable once the folder is.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    fs::File::open(folder_of(path))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
