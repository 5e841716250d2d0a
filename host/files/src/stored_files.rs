//! Files outside the database to which rows refer, identified by the SHA-256 of their bytes: their locations,
//! and the references to them.
//!
//! For commands that copy or check all files. Servers access them through `objects`.

mod place;
mod store;

use std::fs::File;
use std::io;
use std::path::Path;

use kitbag_base::folder::Folder;
use kitbag_base::sha256::{Digest, Sha256};
use kitbag_database::{Database, Transaction};

pub use place::{FileKind, digest_of};

/// Marker file in a data directory while a restore into it is incomplete.
pub const UNFINISHED_RESTORE: &str = "restore-unfinished";

/// Whether a restore into a data directory was interrupted. No server may use the directory then.
pub fn has_unfinished_restore(data: &Path) -> bool {
    data.join(UNFINISHED_RESTORE).exists()
}

/// A file to which rows refer.
#[derive(Clone, Debug)]
pub struct Named {
    /// Kind of the file.
    pub kind: FileKind,
    /// SHA-256 of its bytes, hexadecimal.
    pub digest: String,
    /// Name of its object; `None` if the table `files` has no row for it.
    object: Option<String>,
}

impl Named {
    /// Opens the file below a folder, without following links.
    pub fn open(&self, root: &Folder) -> io::Result<File> {
        match &self.object {
            Some(object) => self.kind.open(root, object),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Returns the file's folder below `root`, created if it is missing, and its name there.
    pub fn make_place(&self, root: &Folder) -> io::Result<(Folder, String)> {
        let path = self.path();
        let (folder, file) = self.kind.make_place(root, &path)?;
        Ok((folder, file.to_owned()))
    }

    /// Returns the name of the file's object; `None` if the table `files` has no row for it.
    pub fn object(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// Returns the file's path below the folder of all files.
    pub fn path(&self) -> String {
        self.object.clone().unwrap_or_else(|| self.kind.plain_object(&self.digest))
    }
}

/// Pages of the files to which rows refer: first all of one kind, then all of the other.
#[derive(Debug, Default)]
pub struct Names {
    kinds_done: usize,
    /// Last digest that was read of the current kind.
    after: String,
}

impl Names {
    /// Returns the next files, sorted by digest; `None` at the end.
    pub async fn next_page(
        &mut self,
        transaction: &mut Transaction,
    ) -> kitbag_database::Result<Option<Vec<Named>>> {
        while let Some(&kind) = FileKind::ALL.get(self.kinds_done) {
            let named = store::named_after(transaction, kind, &self.after).await?;
            if let Some(last) = named.last() {
                self.after.clone_from(&last.digest);
                return Ok(Some(named));
            }
            self.kinds_done += 1;
            self.after.clear();
        }
        Ok(None)
    }

    /// Same as [`next_page`](Self::next_page), in a separate transaction: a long one would prevent a server
    /// on the same database from reusing its write-ahead log.
    pub async fn next_page_of(&mut self, database: &Database) -> kitbag_database::Result<Option<Vec<Named>>> {
        let mut transaction = database.snapshot().await?;
        let page = self.next_page(&mut transaction).await?;
        transaction.roll_back().await?;
        Ok(page)
    }
}

/// Whether a row refers to the file with this digest.
pub async fn is_named(
    transaction: &mut Transaction,
    kind: FileKind,
    digest: &str,
) -> kitbag_database::Result<bool> {
    store::is_named(transaction, kind, digest).await
}

/// Whether the table `files` has the object: rows refer to it, or it is being put or deleted.
pub async fn is_known(transaction: &mut Transaction, object: &str) -> kitbag_database::Result<bool> {
    store::is_known(transaction, object).await
}

/// Returns the number of files of both kinds to which rows refer.
pub async fn count(database: &Database) -> kitbag_database::Result<u64> {
    let mut transaction = database.snapshot().await?;
    let count = store::count(&mut transaction).await?;
    transaction.roll_back().await?;
    Ok(count)
}

/// Whether the database has never had a row that refers to files of this kind: it may have replaced a lost
/// database.
pub async fn were_never_named(
    transaction: &mut Transaction,
    kind: FileKind,
) -> kitbag_database::Result<bool> {
    store::were_never_named(transaction, kind).await
}

/// Returns the SHA-256 and the size of a file, from its current position. Blocks.
pub fn digest(file: &mut File) -> io::Result<(Digest, u64)> {
    let mut hasher = Sha256::new();
    let size = io::copy(file, &mut hasher)?;
    Ok((hasher.finish(), size))
}
