//! Access to files by name in an open folder. Symbolic links are never followed, and the files stay
//! accessible if a folder above is renamed.
//!
//! New files have mode 0600, new folders 0700.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const FOLDER_MODE: Mode = Mode::RWXU;

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    file: File,
    path: PathBuf,
}

/// File system metadata of a name.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// File type; a symbolic link has its own type.
    pub file_type: FileType,
    /// Permission bits.
    pub mode: u32,
    /// Time of the last change of the contents.
    pub modified: SystemTime,
}

impl Folder {
    /// Opens a folder by a path from the user; a symbolic link is followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        Ok(Self { file: file.into(), path: path.to_owned() })
    }

    /// Returns the folder's path, for messages and for libraries that open files themselves.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a subfolder. Fails if it is a symbolic link.
    pub fn subfolder(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&self.file, plain(name)?, flags, Mode::empty())?;
        Ok(Self { file: file.into(), path: self.path.join(name) })
    }

    /// Opens a subfolder, and creates it if it is missing.
    pub fn make_subfolder(&self, name: &str) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.file, plain(name)?, FOLDER_MODE) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.subfolder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading. Fails if it is anything else.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        // Non-blocking: opening a pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.file, plain(name)?, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::LOOP) => return Err(irregular("it is a symbolic link")),
            Err(error) => return Err(error.into()),
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(irregular("it is not a file")) }
    }

    /// Creates a file for reading and writing. Fails if the name exists.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        Ok(rustix::fs::openat(&self.file, plain(name)?, flags, FILE_MODE)?.into())
    }

    /// Opens a lock file, and creates it if it is missing.
    pub fn lock_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::NOFOLLOW;
        Ok(rustix::fs::openat(&self.file, plain(name)?, flags, FILE_MODE)?.into())
    }

    /// Returns the file system metadata of a name; links are not followed.
    pub fn status(&self, name: &str) -> io::Result<Status> {
        let stat = rustix::fs::statat(&self.file, plain(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        let seconds = u64::try_from(stat.st_mtime).unwrap_or_default();
        Ok(Status {
            file_type: FileType::from_raw_mode(stat.st_mode),
            mode: stat.st_mode & 0o7777,
            modified: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
        })
    }

    /// Renames a file or subfolder, and moves it to `folder`. Replaces a file of the new name.
    pub fn rename(&self, name: &str, folder: &Self, new_name: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.file, plain(name)?, &folder.file, plain(new_name)?)?)
    }

    /// Removes a file. Returns whether it existed.
    pub fn remove_file(&self, name: &str) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.file, plain(name)?, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a subfolder with its contents.
    pub fn remove_subfolder(&self, name: &str) -> io::Result<()> {
        let subfolder = self.subfolder(name)?;
        for inner in subfolder.names()? {
            let inner = inner?;
            if subfolder.status(&inner)?.file_type.is_dir() {
                subfolder.remove_subfolder(&inner)?;
            } else {
                subfolder.remove_file(&inner)?;
            }
        }
        Ok(rustix::fs::unlinkat(&self.file, name, AtFlags::REMOVEDIR)?)
    }

    /// Returns the names in the folder, unordered, except those that are not UTF-8, which this program never
    /// creates.
    pub fn names(&self) -> io::Result<impl Iterator<Item = io::Result<String>>> {
        let entries = Dir::read_from(&self.file)?;
        Ok(entries.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = entry.file_name().to_str().ok()?;
                (!matches!(name, "." | "..")).then(|| Ok(name.to_owned()))
            }
            Err(error) => Some(Err(error.into())),
        }))
    }

    /// Makes created, renamed and removed names durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// Returns the name; fails if it is a path.
fn plain(name: &str) -> io::Result<&str> {
    if name.contains('/') || matches!(name, "" | "." | "..") {
        return Err(irregular("its name is a path"));
    }
    Ok(name)
}

fn irregular(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn scratch() -> (tempfile::TempDir, Folder) {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let folder = Folder::open(directory.path()).expect("it is there");
        (directory, folder)
    }

    #[test]
    fn links_are_not_followed_and_pipes_are_not_waited_for() {
        let (directory, folder) = scratch();
        let elsewhere = tempfile::tempdir().expect("a scratch directory");
        std::fs::write(elsewhere.path().join("file"), "x").expect("a file");
        symlink(elsewhere.path(), directory.path().join("folder")).expect("a link");
        symlink(elsewhere.path().join("file"), directory.path().join("file")).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(directory.path().join("pipe")).status();
        assert!(made.expect("there is mkfifo").success());

        assert!(folder.subfolder("folder").is_err());
        assert!(folder.make_subfolder("folder").is_err());
        for name in ["file", "pipe"] {
            assert!(folder.open_file(name).is_err(), "{name}");
            assert!(folder.create_file(name).is_err(), "{name}");
            assert!(!folder.status(name).expect("it is there").file_type.is_file(), "{name}");
        }
        assert!(folder.lock_file("file").is_err());
        assert_eq!(folder.open_file("absent").expect_err("absent").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_that_was_renamed_is_still_the_one_that_is_changed() {
        let (directory, _folder) = scratch();
        let here = directory.path().join("here");
        let moved = directory.path().join("moved");
        std::fs::create_dir_all(here.join("old/inner")).expect("a folder");
        std::fs::write(here.join("old/inner/file"), "x").expect("a file");
        symlink(directory.path(), here.join("old/link")).expect("a link");
        let folder = Folder::open(&here).expect("it is there");

        std::fs::rename(&here, &moved).expect("it can be renamed");
        std::fs::create_dir_all(here.join("old/precious")).expect("a folder");
        folder.remove_subfolder("old").expect("it is there");

        assert!(!moved.join("old").exists());
        assert!(here.join("old/precious").exists());
    }

    #[test]
    fn names_are_no_paths() {
        let (_directory, folder) = scratch();
        folder.make_subfolder("inner").expect("it can be made").create_file("a").expect("it can be made");

        for name in ["inner/a", "../a", "..", ".", "", "/etc/passwd"] {
            assert!(folder.open_file(name).is_err(), "{name}");
            assert!(folder.create_file(name).is_err(), "{name}");
            assert!(folder.subfolder(name).is_err(), "{name}");
            assert!(folder.remove_subfolder(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_created_is_for_its_owner_alone_and_is_found_again() {
        let (directory, folder) = scratch();

        let inner = folder.make_subfolder("inner").expect("it can be made");
        inner.create_file("a").expect("it can be made").write_all(b"text").expect("it can be written");
        inner.rename("a", &folder, "b").expect("it can be renamed");

        let mode = |name: &str| {
            let metadata = std::fs::metadata(directory.path().join(name)).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!((mode("inner"), mode("b")), (0o700, 0o600));
        let mut names: Vec<_> =
            folder.names().expect("it is open").map(|name| name.expect("a name")).collect();
        names.sort();
        assert_eq!(names, ["b", "inner"]);
        assert!(folder.remove_file("b").expect("it is ours"));
        assert!(!folder.remove_file("b").expect("it is ours"));
        folder.remove_subfolder("inner").expect("it is ours");
        assert!(folder.names().expect("it is open").next().is_none());
    }
}
