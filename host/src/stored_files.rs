//! The files of a data directory to which rows of the database refer, all named by the SHA-256 of their bytes:
//! where each kind is, and which names rows give.
//!
//! For commands that copy or check a whole data directory. Servers reach these files through
//! `toolkits/artifacts` and `knowledge/artifacts`.

mod store;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::database::{self, Database, Transaction};
use crate::folder::Folder;
use crate::sha256::{Digest, Sha256};

/// A file in a data directory while a restore into it is incomplete.
pub(crate) const UNFINISHED_RESTORE: &str = "restore-unfinished";

/// What a stored file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// The component of a version of a toolkit, or of an upload that waits.
    Component,
    /// The captured file of a document.
    Artifact,
}

impl FileKind {
    pub(crate) const ALL: [Self; 2] = [Self::Component, Self::Artifact];

    /// Its folder in the data directory.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Component => "components",
            Self::Artifact => "artifacts",
        }
    }

    /// Opens the file with a name that a row gives, without following links.
    pub(crate) fn open(self, data: &Folder, name: &str) -> io::Result<File> {
        let (folder, file) = self.place(name)?;
        folder
            .iter()
            .try_fold(data.subfolder(self.folder())?, |above, name| above.subfolder(name))?
            .open_file(&file)
    }

    /// The folder of a file with this name, created if it is missing, and the file's name there.
    pub(crate) fn make_place(self, data: &Folder, name: &str) -> io::Result<(Folder, String)> {
        let (folder, file) = self.place(name)?;
        let above = data.make_subfolder(self.folder())?;
        Ok((folder.iter().try_fold(above, |above, name| above.make_subfolder(name))?, file))
    }

    /// Its path in the data directory, for messages.
    pub(crate) fn path(self, name: &str) -> PathBuf {
        match self.place(name) {
            Ok((folder, file)) => Path::new(self.folder()).join(folder.unwrap_or_default()).join(file),
            Err(_) => Path::new(self.folder()).join(name),
        }
    }

    /// The name that a row would give a file of this path below the kind's folder.
    pub(crate) fn name_of(self, file: &str) -> Option<&str> {
        let name = match self {
            Self::Component => file.strip_suffix(".wasm")?,
            Self::Artifact => file,
        };
        digest_of(name).is_some().then_some(name)
    }

    /// The folder below the kind's, if there is one, and the name of the file there.
    fn place(self, name: &str) -> io::Result<(Option<&str>, String)> {
        if digest_of(name).is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "its name is not a SHA-256"));
        }
        Ok(match self {
            Self::Component => (None, format!("{name}.wasm")),
            Self::Artifact => (Some(&name[..2]), name.to_owned()),
        })
    }
}

/// Whether a restore into a data directory was interrupted. No server may use it then.
pub(crate) fn has_unfinished_restore(data: &Path) -> bool {
    data.join(UNFINISHED_RESTORE).exists()
}

/// The names that rows give to files, read in pages: first all of one kind, then all of the other.
#[derive(Debug, Default)]
pub(crate) struct Names {
    kinds_done: usize,
    /// The last name that was read of the current kind.
    after: String,
}

impl Names {
    /// The next names, in their order, with their kind; `None` at the end.
    pub(crate) async fn next_page(
        &mut self,
        transaction: &mut Transaction,
    ) -> database::Result<Option<(FileKind, Vec<String>)>> {
        while let Some(&kind) = FileKind::ALL.get(self.kinds_done) {
            let names = store::names_after(transaction, kind, &self.after).await?;
            if let Some(last) = names.last() {
                self.after.clone_from(last);
                return Ok(Some((kind, names)));
            }
            self.kinds_done += 1;
            self.after.clear();
        }
        Ok(None)
    }

    /// As [`next_page`](Self::next_page), in a transaction of its own: a long one would keep the log of changes of a
    /// server on the same database from being reused.
    pub(crate) async fn next_page_of(
        &mut self,
        database: &Database,
    ) -> database::Result<Option<(FileKind, Vec<String>)>> {
        let mut transaction = database.snapshot().await?;
        let page = self.next_page(&mut transaction).await?;
        transaction.roll_back().await?;
        Ok(page)
    }
}

/// Whether a row refers to the file.
pub(crate) async fn is_named(
    transaction: &mut Transaction,
    kind: FileKind,
    name: &str,
) -> database::Result<bool> {
    store::is_named(transaction, kind, name).await
}

/// How many files of both kinds rows refer to.
pub(crate) async fn count(database: &Database) -> database::Result<u64> {
    let mut transaction = database.snapshot().await?;
    let count = store::count(&mut transaction).await?;
    transaction.roll_back().await?;
    Ok(count)
}

/// Whether the database has never had a row that refers to files of a kind. A server removes no file of that kind
/// then: the database may be one that has replaced a lost one.
pub(crate) async fn were_never_named(
    transaction: &mut Transaction,
    kind: FileKind,
) -> database::Result<bool> {
    store::were_never_named(transaction, kind).await
}

/// The SHA-256 that a name is, in lower-case hexadecimal; `None` if it is none.
pub(crate) fn digest_of(name: &str) -> Option<Digest> {
    let mut digest = Digest::default();
    let is_lower_case = !name.bytes().any(|letter| letter.is_ascii_uppercase());
    (is_lower_case && hex::decode_to_slice(name, &mut digest).is_ok()).then_some(digest)
}

/// The SHA-256 and the size of a file, from where it stands. Blocks.
pub(crate) fn digest(file: &mut File) -> io::Result<(Digest, u64)> {
    let mut hasher = Sha256::new();
    let size = io::copy(file, &mut hasher)?;
    Ok((hasher.finish(), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_name_is_a_hash_and_leads_to_no_other_folder() {
        for name in ["", "..", "../../etc/passwd", &NAME[1..], &NAME.to_uppercase(), &NAME.replace('e', "/")]
        {
            assert_eq!(digest_of(name), None, "{name}");
            assert!(FileKind::Artifact.place(name).is_err(), "{name}");
        }
        assert_eq!(FileKind::Component.path(NAME), Path::new(&format!("components/{NAME}.wasm")));
        assert_eq!(FileKind::Artifact.path(NAME), Path::new(&format!("artifacts/e3/{NAME}")));
        assert_eq!(FileKind::Component.name_of(&format!("{NAME}.wasm")), Some(NAME));
        assert_eq!(FileKind::Component.name_of(NAME), None);
        assert_eq!(FileKind::Artifact.name_of(&format!("{NAME}#1")), None);
    }
}
