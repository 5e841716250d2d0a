//! Cache of compiled machine code, in files named by the SHA-256 of the component.
//!
//! ```text
//! <folder>/<engine>/<digest>.cwasm   sealed; recompiled if missing or damaged
//! ```
//!
//! Invariant: a file is used only if it is unchanged: its seal is checked at each use.

mod check;
mod seal;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use kitbag_base::sha256::Sha256;
use tempfile::NamedTempFile;

pub use self::check::check_seals;
use self::seal::Seal;

/// File extension of machine code.
const EXTENSION: &str = "cwasm";
/// Number of hexadecimal digits of a SHA-256.
const DIGEST_DIGITS: usize = 64;

/// Folder of machine code for one engine.
#[derive(Debug)]
pub struct MachineCode {
    path: PathBuf,
    seal: Seal,
}

/// Returns the digest of a component: the SHA-256 of the whole `file`, hexadecimal. Blocks.
pub fn digest(file: &mut File) -> io::Result<String> {
    const CHUNK_BYTES: usize = 256 << 10;

    file.rewind()?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hex::encode(hasher.finish())),
            read => hasher.update(&chunk[..read]),
        }
    }
}

/// Machine code with a checked seal: the open file, even if its path is replaced afterwards.
pub struct SealedCode(File);

impl SealedCode {
    /// Returns a path to the open file, valid while this value exists.
    pub fn path(&self) -> PathBuf {
        const DESCRIPTORS: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

        Path::new(DESCRIPTORS).join(self.0.as_raw_fd().to_string())
    }
}

impl MachineCode {
    /// Opens `folder` of a data directory, which contains the seal's key, for the engine `version`. Deletes
    /// code of other engine versions, and all other files: incomplete ones, and a cache of older versions.
    /// Blocks.
    pub fn open(data: &Path, folder: &str, version: &str) -> io::Result<Self> {
        let path = data.join(folder).join(version);
        fs::create_dir_all(&path)?;
        remove_siblings(&path)?;
        remove_leftovers(&path)?;
        Ok(Self { path, seal: Seal::open(data)? })
    }

    /// Opens machine code after checking its seal, which reads the whole file. Blocks.
    pub fn sealed(&self, digest: &str) -> io::Result<SealedCode> {
        let mut file = File::open(self.file(digest))?;
        self.seal.check(digest, &mut file)?;
        Ok(SealedCode(file))
    }

    /// Creates a temporary file for [`seal_and_persist`](Self::seal_and_persist). It is deleted on drop.
    pub fn new_file(&self) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(&self.path)
    }

    /// Seals machine code in a file on the same file system, and renames it to its final name, durably.
    /// Blocks.
    pub fn seal_and_persist(&self, digest: &str, mut code: NamedTempFile) -> io::Result<()> {
        self.seal.append(digest, code.as_file_mut())?;
        code.persist(self.file(digest))?;
        File::open(&self.path)?.sync_all()
    }

    /// Removes the code of all components except `kept`. Blocks.
    pub fn retain(&self, kept: &HashSet<String>) -> io::Result<()> {
        remove_all_but(&self.path, kept)
    }

    fn file(&self, digest: &str) -> PathBuf {
        self.path.join(digest).with_extension(EXTENSION)
    }
}

/// Removes each file of `folder` whose name is a digest that is not in `kept`. Blocks.
pub(crate) fn remove_all_but(folder: &Path, kept: &HashSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if named_digest(&path).is_some_and(|digest| !kept.contains(digest)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Removes machine code of other engine versions, which this one cannot use.
fn remove_siblings(folder: &Path) -> io::Result<()> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if path != folder && path.is_dir() {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_code =
            path.extension().is_some_and(|found| found == EXTENSION) && named_digest(&path).is_some();
        if path.is_file() && !is_code {
            match fs::remove_file(&path) {
                // Its writer has removed or renamed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

/// Returns the digest in a file's name, if it has one.
fn named_digest(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    let is_digest = stem.len() == DIGEST_DIGITS && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then_some(stem)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Digest of an empty file.
    const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn open(data: &Path) -> MachineCode {
        MachineCode::open(data, "code", "engine").expect("a folder")
    }

    fn keep(code: &MachineCode, bytes: &[u8]) {
        let mut file = code.new_file().expect("a file");
        file.write_all(bytes).expect("a file");
        code.seal_and_persist(DIGEST, file).expect("it can be kept");
    }

    #[test]
    fn what_is_mapped_is_the_file_that_was_checked_whatever_took_its_name_since() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let code = open(data.path());
        keep(&code, b"good code");

        let checked = code.sealed(DIGEST).expect("it is sealed");
        let mut other = NamedTempFile::new_in(data.path()).expect("a file");
        other.write_all(b"evil code").expect("a file");
        other.write_all(&[0; 32]).expect("a file");
        other.persist(code.file(DIGEST)).expect("the name is free to take");

        assert!(fs::read(checked.path()).expect("it is open").starts_with(b"good code"));
        assert!(code.sealed(DIGEST).is_err());
    }

    #[test]
    fn code_of_other_engines_and_files_that_are_no_code_of_a_component_go_away_at_the_start() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let code = open(data.path());
        keep(&code, b"code");
        fs::create_dir(data.path().join("code/older")).expect("a folder");
        for leftover in [".tmp1234", "functions.cwasm"] {
            fs::write(data.path().join("code/engine").join(leftover), "left").expect("a file");
        }

        let code = open(data.path());

        assert!(code.sealed(DIGEST).is_ok());
        let left: Vec<_> = fs::read_dir(data.path().join("code/engine")).expect("a folder").collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(!data.path().join("code/older").exists());
    }
}
