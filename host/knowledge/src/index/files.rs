//! Folder of index files in the data directory. All functions block.
//!
//! ```text
//! search/<SHA-256 of the holder's key>   the index of a holder
//! search/history                         history of the database that the files belong to
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
use kitbag_database::Holder;

use super::file::{Header, read_header};

/// Folder of index files. It, or anything in it, may be deleted at any time by others.
#[derive(Clone, Debug)]
pub(super) struct Files {
    data: PathBuf,
    /// Size limit of all files together, in bytes.
    max_total: u64,
    /// Number of temporary files so far.
    scratch: Arc<AtomicU64>,
}

const FOLDER: &str = "search";
const HISTORY: &str = "history";
/// Name of the file that is being written: one at a time.
const UNFINISHED: &str = "unfinished";
/// Prefix of the short-lived names of temporary files.
const SCRATCH: &str = "scratch";
/// Largest number of bytes that are read of a history.
const MAX_HISTORY: u64 = 1024;

impl Files {
    /// Files in a data directory.
    pub(super) fn new(data: &Path, max_total: u64) -> Self {
        Self { data: data.to_owned(), max_total, scratch: Arc::default() }
    }

    /// Name of a holder's file.
    pub(super) fn name_of(holder: &Holder) -> String {
        hex::encode(Sha256::digest(holder.key()))
    }

    /// Stored history of the database that the files belong to; `None` if it is missing or damaged.
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

    /// Stores the history, and makes earlier deletions durable.
    pub(super) fn set_history(&self, history: &str) -> io::Result<()> {
        let folder = self.folder()?;
        private_file::replace(&folder.path().join(HISTORY), history.as_bytes())
    }

    /// Name and header of each file; `None` for an unreadable header.
    pub(super) fn headers(&self) -> io::Result<Vec<(String, Option<Header>)>> {
        let folder = self.folder()?;
        let header = |name: String| {
            let header = folder.open_file(&name).and_then(read_header).ok().flatten();
            (name, header)
        };
        Ok(names(&folder)?.into_iter().filter(|name| is_digest(name)).map(header).collect())
    }

    /// Opens the file of a holder, and marks it as most recently used.
    pub(super) fn open(&self, holder: &Holder) -> io::Result<Option<File>> {
        let file = match self.folder()?.open_file(&Self::name_of(holder)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Failure only makes the file an earlier candidate for eviction.
        let _ = file.set_modified(SystemTime::now());
        Ok(Some(file))
    }

    /// Creates an unnamed temporary file, whose space is freed when it is closed.
    pub(super) fn scratch(&self) -> io::Result<File> {
        let folder = self.folder()?;
        let name = format!("{SCRATCH}-{}", self.scratch.fetch_add(1, Ordering::Relaxed));
        folder.remove_file(&name)?;
        let file = folder.create_file(&name)?;
        folder.remove_file(&name)?;
        Ok(file)
    }

    /// Writes a new file of at most `size` bytes for a holder, durably, without replacing the existing one yet.
    /// Evicts the least recently used files to make room.
    pub(super) fn write(
        &self,
        holder: &Holder,
        size: u64,
        write: impl FnOnce(&File) -> io::Result<()>,
    ) -> io::Result<()> {
        let folder = self.folder()?;
        folder.remove_file(UNFINISHED)?;
        self.make_room(&folder, &Self::name_of(holder), size)?;
        let written = folder.create_file(UNFINISHED).and_then(|file| {
            write(&file)?;
            file.sync_all()
        });
        if written.is_err() {
            folder.remove_file(UNFINISHED)?;
        }
        written
    }

    /// Deletes the unfinished file, if there is one.
    pub(super) fn discard(&self) -> io::Result<()> {
        self.folder()?.remove_file(UNFINISHED).map(drop)
    }

    /// Replaces the holder's file by the finished one.
    pub(super) fn finish(&self, holder: &Holder) -> io::Result<()> {
        let folder = self.folder()?;
        folder.rename(UNFINISHED, &folder, &Self::name_of(holder))
    }

    /// Deletes files by name.
    pub(super) fn remove(&self, names: &[String]) -> io::Result<()> {
        let folder = self.folder()?;
        names.iter().try_for_each(|name| folder.remove_file(name).map(drop))
    }

    /// Deletes everything except the files of these names and the history.
    pub(super) fn retain(&self, kept: &[String]) -> io::Result<()> {
        let folder = self.folder()?;
        let mut others = names(&folder)?;
        others.retain(|name| name != HISTORY && !kept.contains(name));
        others.iter().try_for_each(|name| match folder.remove_file(name) {
            // A folder, such as `lost+found`.
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
            // Skips entries that were deleted meanwhile, or are not files.
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

    /// Opens the folder; creates it if it was deleted.
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
