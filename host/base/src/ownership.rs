//! The owners of files and folders, and the permissions that other users of this machine have.
//!
//! Another user may have created the folder that a command runs in. Files in such a folder are not trusted:
//! [`read`] reads a file only if it and its folder belong to the current user, and no other user can
//! write to them. The open file is checked, so it cannot be replaced between check and read.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use shlex::try_quote;
use thiserror::Error;
use tracing::{info, warn};

/// The default data directory.
pub const DEFAULT_DATA: &str = "kitbag-data";
/// Maximum size of files read by [`read`], which are settings or a URL.
const MAX_BYTES: u64 = 1 << 20;
/// Write permission for group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// All permissions for group and others.
const OPEN_TO_OTHERS: u32 = 0o077;
/// Files of a data directory that contain keys. Code that uses one checks its permissions first, and refuses
/// it if others may have read it. Changing the permissions before would hide that.
pub const KEY_FILES: [&str; 4] = ["master-key", "code.key", "local-issuer.p8", "sign-in-code"];

/// Access that other users may have to a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Others may read it.
    Unwritable,
    /// Others have no access.
    Private,
}

/// Reason why a file or folder is not trusted.
#[derive(Debug, Error)]
#[error("{path} {reason}", path = path.display())]
pub struct Distrust {
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug, Error)]
enum Reason {
    #[error("belongs to another user of this machine (uid {owner}; this is uid {user})")]
    Owner { owner: u32, user: u32 },
    #[error("can be changed by other users of this machine (its mode is {0:04o})")]
    Writable(u32),
    #[error("can be read by other users of this machine (its mode is {0:04o})")]
    Readable(u32),
    #[error("is a symbolic link")]
    Link,
    #[error("is not a file")]
    NoFile,
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
}

impl Distrust {
    fn new(path: &Path, reason: Reason) -> Self {
        Self { path: path.to_owned(), reason }
    }

    /// Returns the shell command that makes the path trusted, if there is one.
    pub fn remedy(&self) -> Option<String> {
        let path = shell_quoted(&self.path);
        match self.reason {
            Reason::Writable(_) => Some(format!("chmod go-w {path}")),
            Reason::Readable(_) => Some(format!("chmod 700 {path}")),
            Reason::Owner { .. } | Reason::Link | Reason::NoFile | Reason::Unreadable(_) => None,
        }
    }
}

/// Returns the path, quoted as an argument for a POSIX shell.
pub fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    // Only NUL cannot be quoted, and a path never contains it.
    try_quote(&path).map_or_else(|_| path.to_string(), Cow::into_owned)
}

/// Reason why a data directory cannot be used.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// Other users could read or change its contents.
    #[error("{distrust}{}", advice(.0), distrust = .0)]
    Distrusted(Distrust),
    /// The directory cannot be created or opened.
    #[error("{path}: {cause}", path = path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
}

fn advice(distrust: &Distrust) -> String {
    match distrust.remedy() {
        // More than the remedy: others must not be able to read it either.
        Some(_) => format!("; run: chmod 700 {}", shell_quoted(&distrust.path)),
        None if matches!(distrust.reason, Reason::Link) => {
            "; name the directory itself with --data".to_owned()
        }
        None => "; run this as that user, or name another directory with --data".to_owned(),
    }
}

/// Creates a data directory that only the current user can access, or checks that an existing one is: others
/// must not be able to read its keys or write its files (`PostgreSQL` has the same rule). The default one
/// must not be a symbolic link: the creator of the current folder would choose what is written to.
pub fn claim_directory(path: &Path) -> Result<(), DirectoryError> {
    let failed = |cause| DirectoryError::Io { path: path.to_owned(), cause };
    if path == Path::new(DEFAULT_DATA) && path.is_symlink() {
        return Err(DirectoryError::Distrusted(Distrust::new(path, Reason::Link)));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    check_private(path).map_err(DirectoryError::Distrusted)
}

/// Checks that a directory belongs to the current user, and that others cannot access it.
pub fn check_private(path: &Path) -> Result<(), Distrust> {
    let metadata = File::open(path).and_then(|directory| directory.metadata());
    let metadata = metadata.map_err(|error| Distrust::new(path, Reason::Unreadable(error)))?;
    check(Status::of(&metadata), user(), Protection::Private).map_err(|reason| Distrust::new(path, reason))
}

/// Reads a small text file that only the current user can have written; `None` if it does not exist.
///
/// The file must belong to the user, must not be a symbolic link, and must not be writable for others. Its
/// folder must belong to the user too, and give others no more than `folder` allows.
pub fn read(path: &Path, folder: Protection) -> Result<Option<String>, Distrust> {
    let unreadable = |error: io::Error| Distrust::new(path, Reason::Unreadable(error));
    let place = path.parent().filter(|place| !place.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| Distrust::new(path, Reason::NoFile))?;
    let open = OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = match rustix::fs::openat(CWD, place, open | OFlags::DIRECTORY, Mode::empty()) {
        Ok(directory) => File::from(directory),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(unreadable(error.into())),
    };
    // Non-blocking: opening a pipe would wait for a writer. Pipes are refused below.
    let file =
        match rustix::fs::openat(&directory, name, open | OFlags::NOFOLLOW | OFlags::NONBLOCK, Mode::empty())
        {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Distrust::new(path, Reason::Link)),
            Err(error) => return Err(unreadable(error.into())),
        };
    let status = |file: &File| file.metadata().map(|metadata| Status::of(&metadata)).map_err(unreadable);
    let of_folder = status(&directory)?;
    let of_file = status(&file)?;
    check(of_folder, user(), folder).map_err(|reason| Distrust::new(&display_path(place), reason))?;
    if !of_file.is_file {
        return Err(Distrust::new(path, Reason::NoFile));
    }
    check(of_file, user(), Protection::Unwritable).map_err(|reason| Distrust::new(path, reason))?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(Some(text))
}

/// Returns the path for messages: the current folder's absolute path instead of `.`.
fn display_path(place: &Path) -> PathBuf {
    if place == Path::new(".") {
        std::env::current_dir().unwrap_or(place.to_owned())
    } else {
        place.to_owned()
    }
}

/// Reads a text file that the user has named explicitly. Accepts any path, except a file that everyone can
/// write to.
pub fn read_named(path: &Path) -> Result<String, Distrust> {
    let unreadable = |error: io::Error| Distrust::new(path, Reason::Unreadable(error));
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mode = metadata.mode() & 0o7777;
    if metadata.is_file() && mode & 0o002 != 0 {
        return Err(Distrust::new(path, Reason::Writable(mode)));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Sets the umask so that new files are accessible to the current user only, for this process and its
/// children.
pub fn restrict_new_files() {
    rustix::process::umask(Mode::from_bits_truncate(OPEN_TO_OTHERS));
}

/// Removes the permissions of other users from everything in a directory of the user, except key files.
/// Blocks.
pub fn restrict_permissions(directory: &Path) -> io::Result<()> {
    let mut folders = vec![directory.to_owned()];
    let mut restricted = 0_u64;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            // A file that no longer exists was temporary.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_symlink() || (folder == directory && is_key(&path)) {
                continue;
            }
            let mode = metadata.mode() & 0o7777;
            if mode & OPEN_TO_OTHERS != 0 {
                match fs::set_permissions(&path, fs::Permissions::from_mode(mode & !OPEN_TO_OTHERS)) {
                    Ok(()) => restricted += 1,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => {
                        warn!(path = %path.display(), %error, "other users may read this file once they may enter its folder");
                    }
                }
            }
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    if restricted > 0 {
        info!(files = restricted, "took the permissions of other users from files in the data directory");
    }
    Ok(())
}

fn is_key(path: &Path) -> bool {
    path.file_name().is_some_and(|name| KEY_FILES.iter().any(|key| name == *key))
}

/// File metadata needed for the check.
#[derive(Clone, Copy, Debug)]
struct Status {
    owner: u32,
    mode: u32,
    is_file: bool,
}

impl Status {
    fn of(metadata: &Metadata) -> Self {
        Self { owner: metadata.uid(), mode: metadata.mode() & 0o7777, is_file: metadata.is_file() }
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Checks that a file or folder belongs to `user`, and gives others no more than `protection` allows.
fn check(status: Status, user: u32, protection: Protection) -> Result<(), Reason> {
    let Status { owner, mode, .. } = status;
    if owner != user {
        return Err(Reason::Owner { owner, user });
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(Reason::Writable(mode));
    }
    match protection {
        Protection::Private if mode & OPEN_TO_OTHERS != 0 => Err(Reason::Readable(mode)),
        Protection::Private | Protection::Unwritable => Ok(()),
    }
}
