//! Files that contain keys: readable for their owner only, and replaced atomically.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Creates a file with mode 0600 under a temporary name and links it to its name, durably. An existing file
/// is not changed: if two processes start at once, one wins, and both use its key.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match write_beside(path, bytes)?.persist_noclobber(path) {
        Ok(_) => sync_folder_of(path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// Replaces a file atomically and durably; the new one has mode 0600.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_beside(path, bytes)?.persist(path)?;
    sync_folder_of(path)
}

/// Whether other users of this machine have any access to the file.
pub fn is_exposed(path: &Path) -> io::Result<bool> {
    const OTHER_USERS: u32 = 0o077;

    Ok(fs::metadata(path)?.permissions().mode() & OTHER_USERS != 0)
}

/// Writes a temporary file in the same folder; temporary files have mode 0600.
fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder_of(path))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Makes a rename durable by syncing the folder.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    fs::File::open(folder_of(path))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
