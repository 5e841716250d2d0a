//! The folder with the files of indexes, in the data directory. Everything here blocks.
//!
//! ```text
//! search/<SHA-256 of the user's id>   the index of a user
//! search/history                      the history of the database that they are of
//! ```

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use kitbag_base::folder::Folder;
use kitbag_base::private_file;
use kitbag_base::sha256::{Digest, Sha256};

use super::file::{Header, read_header};

/// The folder. Somebody may delete it, or anything in it, at any time.
#[derive(Clone, Debug)]
pub(super) struct Files {
    data: PathBuf,
    /// Bytes that all files may have.
    max_total: u64,
    /// How many files without a name there have been.
    scratch: Arc<AtomicU64>,
}

const FOLDER: &str = "search";
const HISTORY: &str = "history";
/// The file that is being written: one at a time.
const UNFINISHED: &str = "unfinished";
/// The names that files without one have for a moment.
const SCRATCH: &str = "scratch";
/// Bytes of a history that are read.
const MAX_HISTORY: u64 = 1024;

impl Files {
    /// Those in a data directory.
    pub(super) fn new(data: &Path, max_total: u64) -> Self {
        Self { data: data.to_owned(), max_total, scratch: Arc::default() }
    }

    /// The name of a user's file.
    pub(super) fn name_of(user_id: &str) -> String {
        hex::encode(Sha256::digest(user_id))
    }

    /// The history that the files are of, as it was set; nothing where that is damaged.
    pub(super) fn history(&self) -> io::Result<Option<String>> {
        let file = match self.folder()?.open_file(HISTORY) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut history = Vec::new();
        file.take(MAX_HISTORY).read_to_end(&mut history)?;
        Ok(String::from_utf8(history).ok())
    }

    /// Sets the history durably, and with it everything that was removed before.
    pub(super) fn set_history(&self, history: &str) -> io::Result<()> {
        let folder = self.folder()?;
        private_file::replace(&folder.path().join(HISTORY), history.as_bytes())
    }

    /// Each file's header; nothing where it cannot be read.
    pub(super) fn headers(&self) -> io::Result<Vec<(String, Option<Header>)>> {
        let folder = self.folder()?;
        let header = |name: String| {
            let header = folder.open_file(&name).and_then(read_header).ok().flatten();
            (name, header)
        };
        Ok(names(&folder)?.into_iter().filter(|name| is_digest(name)).map(header).collect())
    }

    /// Opens the file of a user, which is then the last to go when room is made.
    pub(super) fn open(&self, user_id: &str) -> io::Result<Option<File>> {
        let file = match self.folder()?.open_file(&Self::name_of(user_id)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Where that is refused, it only goes earlier.
        let _ = file.set_modified(SystemTime::now());
        Ok(Some(file))
    }

    /// Makes a file without a name: it takes no room any more once it is closed.
    pub(super) fn scratch(&self) -> io::Result<File> {
        let folder = self.folder()?;
        let name = format!("{SCRATCH}-{}", self.scratch.fetch_add(1, Ordering::Relaxed));
        folder.remove_file(&name)?;
        let file = folder.create_file(&name)?;
        folder.remove_file(&name)?;
        Ok(file)
    }

    /// Writes a file of at most `size` bytes for a user beside the one that is there, durably. The files that were used least
    /// recently make room for it.
    pub(super) fn write(
        &self,
        user_id: &str,
        size: u64,
        write: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let folder = self.folder()?;
        folder.remove_file(UNFINISHED)?;
        self.make_room(&folder, &Self::name_of(user_id), size)?;
        let written = folder.create_file(UNFINISHED).and_then(|file| {
            write(&file)?;
            file.sync_all()
        });
        if written.is_err() {
            folder.remove_file(UNFINISHED)?;
        }
        written
    }

    /// Removes what was written, if it is not in its place.
    pub(super) fn discard(&self) -> io::Result<()> {
        self.folder()?.remove_file(UNFINISHED).map(drop)
    }

    /// Puts what was written in the place of the user's file.
    pub(super) fn finish(&self, user_id: &str) -> io::Result<()> {
        let folder = self.folder()?;
        folder.rename(UNFINISHED, &folder, &Self::name_of(user_id))
    }

    /// Removes files by name.
    pub(super) fn remove(&self, names: &[String]) -> io::Result<()> {
        let folder = self.folder()?;
        names.iter().try_for_each(|name| folder.remove_file(name).map(drop))
    }

    /// Removes everything but the files of these names and the history.
    pub(super) fn retain(&self, kept: &[String]) -> io::Result<()> {
        let folder = self.folder()?;
        let mut others = names(&folder)?;
        others.retain(|name| name != HISTORY && !kept.contains(name));
        others.iter().try_for_each(|name| match folder.remove_file(name) {
            // Such as `lost+found`.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(()),
            removed => removed.map(drop),
        })
    }

    fn make_room(&self, folder: &Folder, for_name: &str, size: u64) -> io::Result<()> {
        if size > self.max_total {
            return Err(io::Error::other("it is larger than search-memory allows"));
        }
        let mut others = Vec::new();
        for name in names(folder)?.into_iter().filter(|name| is_digest(name) && name != for_name) {
            // One that is gone, or is no file, takes no room that can be made.
            let Ok(metadata) = folder.open_file(&name).and_then(|file| file.metadata()) else { continue };
            others.push((metadata.modified()?, metadata.len(), name));
        }
        others.sort();
        let mut total = size + others.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, name) in others {
            if total <= self.max_total {
                break;
            }
            folder.remove_file(&name)?;
            total -= size;
        }
        Ok(())
    }

    /// Opens the folder, which is made again where somebody has deleted it.
    fn folder(&self) -> io::Result<Folder> {
        Folder::open(&self.data)?.make_subfolder(FOLDER)
    }
}

fn names(folder: &Folder) -> io::Result<Vec<String>> {
    folder.names()?.collect()
}

fn is_digest(name: &str) -> bool {
    name.len() == 2 * size_of::<Digest>() && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
