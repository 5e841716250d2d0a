//! Locations of stored files: the name of an object in a bucket, which is also its path below a folder.
//!
//! ```text
//! components/<sha256>-<16 hexadecimal digits>.wasm
//! artifacts/<first two digits>/<sha256>-<16 hexadecimal digits>
//! ```
//!
//! Files that were stored before the random digits were introduced have none.

use std::fs::File;
use std::io;

use kitbag_base::folder::Folder;
use kitbag_base::sha256::Digest;

/// Number of random bytes in the name of an object.
const RANDOM_BYTES: usize = 8;

/// Kind of a stored file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Component of a toolkit's version, or of an upload that awaits review.
    Component,
    /// Captured file of a document.
    Artifact,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Component, Self::Artifact];

    /// Returns the folder of all files of this kind.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Component => "components",
            Self::Artifact => "artifacts",
        }
    }

    /// Returns the name of the file with this digest, which does not depend on its object.
    pub fn name(self, digest: &str) -> String {
        format!("{}/{digest}", self.folder())
    }

    /// Returns a new, unique object name for the file with this digest.
    pub fn new_object(self, digest: &str) -> String {
        let mut random = [0; RANDOM_BYTES];
        aws_lc_rs::rand::fill(&mut random).expect("the system has random numbers");
        self.object(digest, &format!("-{}", hex::encode(random)))
    }

    /// Returns an object name for messages and backups, for files whose real object name is unknown.
    pub fn plain_object(self, digest: &str) -> String {
        self.object(digest, "")
    }

    fn object(self, digest: &str, suffix: &str) -> String {
        match self {
            Self::Component => format!("components/{digest}{suffix}.wasm"),
            Self::Artifact => {
                format!("artifacts/{}/{digest}{suffix}", digest.get(..2).unwrap_or_default())
            }
        }
    }

    /// Returns the digest in an object name of this kind; `None` if it is not one.
    pub fn digest_in(self, object: &str) -> Option<&str> {
        let last = object.rsplit('/').next()?;
        let stem = if self == Self::Component { last.strip_suffix(".wasm")? } else { last };
        let (digest, suffix) = match stem.split_once('-') {
            Some((digest, random)) if is_random(random) => (digest, &stem[digest.len()..]),
            Some(_) => return None,
            None => (stem, ""),
        };
        (digest_of(digest).is_some() && self.object(digest, suffix) == object).then_some(digest)
    }

    /// Opens an object of this kind below a folder, without following links.
    pub fn open(self, root: &Folder, object: &str) -> io::Result<File> {
        let (folders, file) = self.parts(object)?;
        let mut folder = root.subfolder(self.folder())?;
        for name in folders {
            folder = folder.subfolder(name)?;
        }
        folder.open_file(file)
    }

    /// Returns the folder of an object of this kind below `root`, created if it is missing, and its name
    /// there.
    pub(crate) fn make_place<'o>(self, root: &Folder, object: &'o str) -> io::Result<(Folder, &'o str)> {
        let (folders, file) = self.parts(object)?;
        let mut folder = root.make_subfolder(self.folder())?;
        for name in folders {
            folder = folder.make_subfolder(name)?;
        }
        Ok((folder, file))
    }

    /// Returns the folders of an object below the folder of its kind, and its name there.
    fn parts(self, object: &str) -> io::Result<(impl Iterator<Item = &str>, &str)> {
        if self.digest_in(object).is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a stored file"));
        }
        let (folders, file) = object.rsplit_once('/').unwrap_or(("", object));
        Ok((folders.split('/').skip(1), file))
    }
}

fn is_random(digits: &str) -> bool {
    digits.len() == 2 * RANDOM_BYTES
        && digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

/// Parses a SHA-256 in lower-case hexadecimal; `None` if the name is not one.
pub fn digest_of(name: &str) -> Option<Digest> {
    let mut digest = Digest::default();
    let is_lower_case = !name.bytes().any(|letter| letter.is_ascii_uppercase());
    (is_lower_case && hex::decode_to_slice(name, &mut digest).is_ok()).then_some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn an_object_tells_its_digest_and_leads_to_no_other_folder() {
        let [component, artifact] = FileKind::ALL.map(|kind| kind.new_object(DIGEST));
        assert_eq!(FileKind::Component.digest_in(&component), Some(DIGEST));
        assert_eq!(FileKind::Artifact.digest_in(&artifact), Some(DIGEST));
        assert_eq!(FileKind::Artifact.digest_in(&component), None);
        for plain in [format!("components/{DIGEST}.wasm"), format!("artifacts/e3/{DIGEST}")] {
            let found = FileKind::ALL.map(|kind| kind.digest_in(&plain));
            assert!(found.contains(&Some(DIGEST)), "{plain}");
        }

        let scratch = tempfile::tempdir().expect("a scratch directory");
        let root = Folder::open(scratch.path()).expect("a folder");
        let upper = DIGEST.to_uppercase();
        for wrong in [
            "",
            "..",
            "components/../master-key",
            "/etc/passwd",
            &format!("../components/{DIGEST}.wasm"),
            &format!("components/../components/{DIGEST}.wasm"),
            &format!("components/{DIGEST}-..wasm"),
            &format!("components/{DIGEST}-0123456789ABCDEF.wasm"),
            &format!("components/{DIGEST}#1"),
            &format!("artifacts/{DIGEST}"),
            &format!("artifacts/e4/{DIGEST}"),
            &format!("artifacts/e3/{DIGEST}-"),
            &format!("artifacts/e3/{DIGEST}#1"),
            &format!("artifacts/e3/{}", &DIGEST[1..]),
            &format!("artifacts/E3/{upper}"),
        ] {
            for kind in FileKind::ALL {
                assert_eq!(kind.digest_in(wrong), None, "{wrong}");
                let opened = kind.open(&root, wrong).expect_err("it is refused");
                assert_eq!(opened.kind(), io::ErrorKind::InvalidInput, "{wrong}");
            }
        }
    }

    #[test]
    fn no_two_objects_have_the_same_name() {
        assert_ne!(FileKind::Artifact.new_object(DIGEST), FileKind::Artifact.new_object(DIGEST));
    }
}
