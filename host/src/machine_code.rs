//! Machine code as files, named by the SHA-256 of the component that it was compiled from.
//!
//! ```text
//! <folder>/<engine>/<digest>.cwasm   sealed; made again whenever it is missing or damaged
//! ```
//!
//! Invariant: nothing is handed out that was not put there: each file is checked against its seal.

mod seal;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use self::seal::Seal;
use crate::sha256::Sha256;

/// What a file of machine code ends in.
const EXTENSION: &str = "cwasm";
/// A SHA-256 in hexadecimal.
const DIGEST_DIGITS: usize = 64;

/// A folder of machine code for one engine; a clone is the same folder.
#[derive(Clone, Debug)]
pub(crate) struct MachineCode(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    seal: Seal,
}

/// The name of a component: the SHA-256 of all of `file`, in hexadecimal. Blocks.
pub(crate) fn digest(file: &mut File) -> io::Result<String> {
    const CHUNK_BYTES: usize = 256 << 10;

    file.rewind()?;
    let (mut hasher, mut chunk) = (Sha256::new(), vec![0; CHUNK_BYTES]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hex::encode(hasher.finish())),
            read => hasher.update(&chunk[..read]),
        }
    }
}

/// Machine code whose seal was checked: this very file, whatever stands under its name by now.
pub(crate) struct SealedCode(File);

impl SealedCode {
    /// Where the file can be opened for as long as this value lives.
    pub(crate) fn path(&self) -> PathBuf {
        const DESCRIPTORS: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

        Path::new(DESCRIPTORS).join(self.0.as_raw_fd().to_string())
    }

    /// Bytes of the code, without the seal behind it.
    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len().saturating_sub(seal::SEAL_BYTES as u64))
    }
}

impl MachineCode {
    /// Opens `folder` of a data directory, which holds the seal's key, for the engine `version`. Code of
    /// other versions goes away, and so does what earlier runs left unfinished. Blocks.
    pub(crate) fn open(data: &Path, folder: &str, version: &str) -> io::Result<Self> {
        let path = data.join(folder).join(version);
        fs::create_dir_all(&path)?;
        remove_siblings(&path)?;
        remove_unfinished(&path)?;
        Ok(Self(Arc::new(Folder { path, seal: Seal::open(data)? })))
    }

    /// Opens machine code, once its seal was checked. Reads all of it.
    pub(crate) fn sealed(&self, digest: &str) -> io::Result<SealedCode> {
        let mut file = File::open(self.file(digest))?;
        self.0.seal.check(digest, &mut file)?;
        Ok(SealedCode(file))
    }

    /// A file that can be adopted; it goes away unless it is.
    pub(crate) fn new_file(&self) -> io::Result<NamedTempFile> {
        NamedTempFile::new_in(&self.0.path)
    }

    /// Seals machine code that was written to a file of this file system, and gives it its name,
    /// durably. Blocks.
    pub(crate) fn adopt(&self, digest: &str, mut code: NamedTempFile) -> io::Result<()> {
        self.0.seal.append(digest, code.as_file_mut())?;
        code.persist(self.file(digest))?;
        File::open(&self.0.path)?.sync_all()
    }

    /// Removes the code of all components but these. Blocks.
    pub(crate) fn retain(&self, kept: &HashSet<String>) -> io::Result<()> {
        remove_all_but(&self.0.path, kept)
    }

    fn file(&self, digest: &str) -> PathBuf {
        self.0.path.join(digest).with_extension(EXTENSION)
    }
}

/// Removes each file of `folder` whose name is a digest that is not among these. Blocks.
pub(crate) fn remove_all_but(folder: &Path, kept: &HashSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let digest = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_ours = digest.len() == DIGEST_DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_ours && !kept.contains(digest) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Machine code of other engine versions is of no use to this one.
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

fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_none_or(|extension| extension != EXTENSION) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn open(data: &Path) -> MachineCode {
        MachineCode::open(data, "code", "engine").expect("a folder")
    }

    fn keep(code: &MachineCode, bytes: &[u8]) {
        let mut file = code.new_file().expect("a file");
        file.write_all(bytes).expect("a file");
        code.adopt("digest", file).expect("it can be kept");
    }

    #[test]
    fn what_is_mapped_is_the_file_that_was_checked_whatever_took_its_name_since() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let code = open(data.path());
        keep(&code, b"good code");

        let checked = code.sealed("digest").expect("it is sealed");
        let mut other = NamedTempFile::new_in(data.path()).expect("a file");
        other.write_all(b"evil code").expect("a file");
        other.write_all(&[0; 32]).expect("a file");
        other.persist(code.file("digest")).expect("the name is free to take");

        assert!(fs::read(checked.path()).expect("it is open").starts_with(b"good code"));
        assert!(code.sealed("digest").is_err());
    }

    #[test]
    fn code_of_other_engines_and_unfinished_files_go_away_at_the_start() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let code = open(data.path());
        keep(&code, b"code");
        fs::create_dir(data.path().join("code/older")).expect("a folder");
        fs::write(data.path().join("code/engine/.tmp1234"), "half").expect("a file");

        let code = open(data.path());

        assert!(code.sealed("digest").is_ok());
        let left: Vec<_> = fs::read_dir(data.path().join("code/engine")).expect("a folder").collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(!data.path().join("code/older").exists());
    }
}
