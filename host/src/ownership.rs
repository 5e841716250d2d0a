//! Whom files and folders belong to, and what other users of this machine could do with them.
//!
//! Somebody else may have made the folder that a command runs in. What such a folder says is not heard:
//! [`read`] takes a file only where it and its folder belong to the user who runs this, and nobody else
//! can write to them. What was checked is the open file, and so nobody can exchange it in between.

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

/// Where a server keeps its data when nothing else is said.
pub const DEFAULT_DATA: &str = "kitbag-data";
/// Files that are read for a command are settings or a URL.
const MAX_BYTES: u64 = 1 << 20;
/// Write permission of the group and of everybody.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Every permission of the group and of everybody.
const OPEN_TO_OTHERS: u32 = 0o077;
/// Files of a data directory that hold keys. Whoever uses one checks it first, and refuses it where others
/// may have read it: nothing may hide that before.
const KEY_FILES: [&str; 4] = ["master-key", "code.key", "local-issuer.p8", "sign-in-code"];

/// What others may do with a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Read it, and nothing else.
    Unwritable,
    /// Nothing.
    Private,
}

/// Why a file or folder is not trusted.
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

    /// What makes it trusted, where that is the user's to decide.
    pub fn remedy(&self) -> Option<String> {
        let path = shell_quoted(&self.path);
        match self.reason {
            Reason::Writable(_) => Some(format!("chmod go-w {path}")),
            Reason::Readable(_) => Some(format!("chmod 700 {path}")),
            Reason::Owner { .. } | Reason::Link | Reason::NoFile | Reason::Unreadable(_) => None,
        }
    }
}

/// The path as an argument of a command in a POSIX shell.
pub fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    // No path has the one character that cannot be quoted, NUL.
    try_quote(&path).map_or_else(|_| path.to_string(), Cow::into_owned)
}

/// Why a data directory cannot be used.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// Others could read or change what is in it.
    #[error("{distrust}{}", advice(.0), distrust = .0)]
    Distrusted(Distrust),
    /// It cannot be made or opened.
    #[error("{path}: {cause}", path = path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What happened.
        cause: io::Error,
    },
}

fn advice(distrust: &Distrust) -> String {
    match distrust.remedy() {
        // Somebody may have read what is in it: permissions tell nothing of the past.
        Some(_) => format!("; run: chmod 700 {}", shell_quoted(&distrust.path)),
        None if matches!(distrust.reason, Reason::Link) => {
            "; name the directory itself with --data".to_owned()
        }
        None => "; run this as that user, or name another directory with --data".to_owned(),
    }
}

/// Makes a data directory for the user alone, or checks that it is the user's alone: a key in it, or what
/// was read from it, must be nobody else's (`PostgreSQL` has the same rule). The default one must not be a
/// symbolic link: whoever made the current folder would choose what is written to.
pub fn claim_directory(path: &Path) -> Result<(), DirectoryError> {
    let failed = |cause| DirectoryError::Io { path: path.to_owned(), cause };
    if path == Path::new(DEFAULT_DATA) && path.is_symlink() {
        return Err(DirectoryError::Distrusted(Distrust::new(path, Reason::Link)));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let metadata = File::open(path).and_then(|directory| directory.metadata()).map_err(failed)?;
    judge(Status::of(&metadata), user(), Protection::Private)
        .map_err(|reason| DirectoryError::Distrusted(Distrust::new(path, reason)))
}

/// Reads a small text that only this user can have written, or nothing where there is no such file.
///
/// The file belongs to the user, is no link, and nobody else can write to it; its folder belongs to the user,
/// too, and others can do no more with it than `folder` says.
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
    // Without waiting: a pipe, which would wait for a writer, is refused below.
    let file =
        match rustix::fs::openat(&directory, name, open | OFlags::NOFOLLOW | OFlags::NONBLOCK, Mode::empty())
        {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Distrust::new(path, Reason::Link)),
            Err(error) => return Err(unreadable(error.into())),
        };
    let status = |file: &File| file.metadata().map(|metadata| Status::of(&metadata)).map_err(unreadable);
    let (of_folder, of_file) = (status(&directory)?, status(&file)?);
    judge(of_folder, user(), folder).map_err(|reason| Distrust::new(&named(place), reason))?;
    if !of_file.is_file {
        return Err(Distrust::new(path, Reason::NoFile));
    }
    judge(of_file, user(), Protection::Unwritable).map_err(|reason| Distrust::new(path, reason))?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(unreadable)?;
    Ok(Some(text))
}

/// The folder that the command runs in has a name that says more than a dot.
fn named(place: &Path) -> PathBuf {
    if place == Path::new(".") {
        std::env::current_dir().unwrap_or(place.to_owned())
    } else {
        place.to_owned()
    }
}

/// Reads a text file that the user has named, wherever it is and whatever it is, unless everybody can
/// write to it.
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

/// Makes whatever is created from now on the user's alone; for the whole process, and what it starts.
pub fn restrict_new_files() {
    rustix::process::umask(Mode::from_bits_truncate(OPEN_TO_OTHERS));
}

/// Takes permissions of others from all that is in a directory of the user's. Keys stay as they are. Blocks.
pub fn narrow(directory: &Path) -> io::Result<()> {
    let (mut folders, mut narrowed) = (vec![directory.to_owned()], 0_u64);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            // What is gone by now was temporary.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_symlink() || (folder == directory && is_key(&path)) {
                continue;
            }
            let mode = metadata.mode() & 0o7777;
            if mode & OPEN_TO_OTHERS != 0 {
                match fs::set_permissions(&path, fs::Permissions::from_mode(mode & !OPEN_TO_OTHERS)) {
                    Ok(()) => narrowed += 1,
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
    if narrowed > 0 {
        info!(files = narrowed, "took the permissions of other users from files in the data directory");
    }
    Ok(())
}

fn is_key(path: &Path) -> bool {
    path.file_name().is_some_and(|name| KEY_FILES.iter().any(|key| name == *key))
}

/// What there is to judge by.
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

/// Whether a file or folder belongs to `user`, and others can do no more with it than `protection` says.
fn judge(status: Status, user: u32, protection: Protection) -> Result<(), Reason> {
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
