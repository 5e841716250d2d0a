//! Whom files and folders belong to, and what other users of this machine could do with them.
//!
//! Somebody else may have made the folder that a command runs in. What such a folder says is not heard:
//! [`read`] takes a file only where it and its folder belong to the user who runs this, and nobody else
//! can write to them. What was checked is the open file, and so nobody can exchange it in between.

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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn file(mode: u32, folder_mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let path = folder.path().join("file");
        fs::write(&path, "text").expect("a scratch file");
        set_mode(&path, mode);
        set_mode(folder.path(), folder_mode);
        (folder, path)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").mode() & 0o7777
    }

    #[test]
    fn only_the_owner_alone_is_trusted() {
        use Protection::{Private, Unwritable};

        for (owner, mode, protection, trusted) in [
            (1000, 0o700, Private, true),
            (1000, 0o755, Private, false),
            (1000, 0o710, Private, false),
            (1000, 0o701, Private, false),
            (1000, 0o755, Unwritable, true),
            (1000, 0o775, Unwritable, false),
            (1000, 0o757, Unwritable, false),
            (1000, 0o1777, Unwritable, false),
            (0, 0o700, Private, false),
            (0, 0o644, Unwritable, false),
            (1001, 0o700, Unwritable, false),
        ] {
            let judged = judge(Status { owner, mode, is_file: true }, 1000, protection);
            assert_eq!(judged.is_ok(), trusted, "{owner} {mode:o} {protection:?}");
        }
        // For the administrator, too, a file of somebody else is one of somebody else.
        assert!(
            judge(Status { owner: 1000, mode: 0o600, is_file: true }, 0, Protection::Unwritable).is_err()
        );
    }

    #[test]
    fn a_file_is_read_that_nobody_else_can_have_written() {
        for (file_mode, folder_mode, protection, trusted) in [
            (0o600, 0o700, Protection::Private, true),
            (0o644, 0o755, Protection::Unwritable, true),
            (0o644, 0o755, Protection::Private, false),
            (0o666, 0o700, Protection::Private, false),
            (0o664, 0o755, Protection::Unwritable, false),
            (0o600, 0o777, Protection::Unwritable, false),
        ] {
            let (_folder, path) = file(file_mode, folder_mode);
            let text = read(&path, protection).ok().flatten();
            assert_eq!(text.is_some(), trusted, "{file_mode:o} in {folder_mode:o}, {protection:?}");
        }
    }

    #[test]
    fn no_link_and_no_pipe_is_read_and_what_is_absent_is_nothing() {
        let (folder, path) = file(0o600, 0o700);
        let (link, pipe) = (folder.path().join("link"), folder.path().join("pipe"));
        symlink(&path, &link).expect("a link");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_bits_truncate(0o600), 0)
            .expect("a pipe");

        assert!(
            read(&link, Protection::Private).is_err_and(|error| error.to_string().contains("symbolic link"))
        );
        assert!(
            read(&pipe, Protection::Private).is_err_and(|error| error.to_string().contains("not a file"))
        );
        for absent in ["absent", "absent/file", "file/file"] {
            assert!(matches!(read(&folder.path().join(absent), Protection::Private), Ok(None)), "{absent}");
        }
        // A folder of strangers in which there is nothing is no matter.
        set_mode(folder.path(), 0o777);
        assert!(matches!(read(&folder.path().join("absent"), Protection::Private), Ok(None)));
    }

    #[test]
    fn a_data_directory_is_made_for_its_owner_alone_or_has_to_be() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let data = folder.path().join("a/data");

        claim_directory(&data).expect("it is made");

        assert_eq!((mode(&data), mode(&folder.path().join("a"))), (0o700, 0o700));
        for open in [0o750, 0o755, 0o770, 0o701] {
            set_mode(&data, open);
            let refused = claim_directory(&data).expect_err("others can enter it").to_string();
            assert!(refused.contains(&format!("chmod 700 {}", data.display())), "{refused}");
        }
        set_mode(&data, 0o700);
        claim_directory(&data).expect("it is ours alone");
    }

    #[test]
    fn a_path_in_advice_is_one_argument_of_a_shell() {
        let quoted = |path: &str| shell_quoted(Path::new(path));

        assert_eq!(quoted("/srv/kitbag-data"), "/srv/kitbag-data");
        for hostile in ["a b", "x; rm -rf ~", "$(id)", "it's", "`id`", "a\nb", "*", "~"] {
            let command = format!("printf %s {}", quoted(hostile));
            let shell = std::process::Command::new("sh").args(["-c", &command]).output();
            assert_eq!(shell.expect("there is a shell").stdout, hostile.as_bytes(), "{command}");
        }
        let distrust = Distrust::new(Path::new("a; id"), Reason::Readable(0o755));
        assert_eq!(distrust.remedy().as_deref(), Some("chmod 700 'a; id'"));
        assert!(advice(&distrust).ends_with("chmod 700 'a; id'"));
    }

    #[test]
    fn permissions_of_others_are_taken_from_everything_but_keys_and_what_links_lead_to() {
        let elsewhere = tempfile::tempdir().expect("a scratch directory");
        let outside = elsewhere.path().join("outside");
        let data = tempfile::tempdir().expect("a scratch directory");
        let inside = |name: &str| data.path().join(name);
        fs::create_dir_all(inside("folder/deep")).expect("a folder");
        for path in [&outside, &inside("database"), &inside("folder/deep/file"), &inside("master-key")] {
            fs::write(path, "").expect("a scratch file");
            set_mode(path, 0o644);
        }
        set_mode(&inside("folder"), 0o755);
        symlink(&outside, inside("link")).expect("a link");

        narrow(data.path()).expect("it is ours");

        assert_eq!(mode(&inside("database")), 0o600);
        assert_eq!((mode(&inside("folder")), mode(&inside("folder/deep/file"))), (0o700, 0o600));
        assert_eq!((mode(&outside), mode(&inside("master-key"))), (0o644, 0o644));
    }
}
