//! The seal on machine code: an HMAC that proves that this server compiled exactly these bytes from exactly
//! this component.
//!
//! Machine code is mapped from the disk and executed, and cannot be verified after that. The seal detects bit
//! errors, another toolkit's code under this name, and files written by someone without the key.
//!
//! The open file with the checked seal is the one that is mapped. Only the server's own user can write to it,
//! and that user can read the key anyway.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{Context, HMAC_SHA256, Key, Tag};
use aws_lc_rs::rand;
use kitbag_base::private_file;
use rustix::process::geteuid;
use secrecy::zeroize::Zeroizing;

/// Key file in the data directory, mode 0600. If it is missing, all machine code is compiled again.
const KEY_FILE: &str = "code.key";
const KEY_BYTES: usize = 32;
/// Size of the seal: an HMAC-SHA-256 (RFC 2104) over the component's digest and the code. It follows the
/// code in the same file, so that both appear atomically.
const SEAL_BYTES: usize = 32;
/// Write permission for group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Bytes read at once.
const CHUNK_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Seal(Key);

impl Seal {
    /// Reads the key, or creates one if there is no usable one.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(KEY_FILE);
        let key = match read_key(&path)? {
            Some(key) => key,
            None => make_key(&path)?,
        };
        Ok(Self(Key::new(HMAC_SHA256, &key)))
    }

    /// Reads the key; `None` if there is no usable one.
    pub(super) fn existing(directory: &Path) -> io::Result<Option<Self>> {
        Ok(read_key(&directory.join(KEY_FILE))?.map(|key| Self(Key::new(HMAC_SHA256, &key))))
    }

    /// Appends the seal to the machine code in `file`, durably.
    pub(super) fn append(&self, digest: &str, file: &mut File) -> io::Result<()> {
        let size = file.metadata()?.len();
        file.rewind()?;
        let seal = self.compute(digest, file, size)?;
        file.write_all(seal.as_ref())?;
        file.sync_all()
    }

    /// Checks that `file` contains machine code of the component `digest`, followed by a valid seal, and that
    /// no other user can write to it.
    pub(super) fn check(&self, digest: &str, file: &mut File) -> io::Result<()> {
        let broken =
            || io::Error::new(io::ErrorKind::InvalidData, "it does not bear the seal of this server");
        let metadata = file.metadata()?;
        if metadata.uid() != geteuid().as_raw() || metadata.mode() & WRITABLE_BY_OTHERS != 0 {
            let detail = "others than the user of this server can write to it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, detail));
        }
        let size = metadata.len().checked_sub(SEAL_BYTES as u64).ok_or_else(broken)?;
        file.rewind()?;
        let expected = self.compute(digest, file, size)?;
        let mut found = [0; SEAL_BYTES];
        file.read_exact(&mut found)?;
        verify_slices_are_equal(expected.as_ref(), &found).map_err(|_| broken())
    }

    /// Computes the seal over the digest and the first `size` bytes of `file`. Leaves the file's position
    /// after them.
    fn compute(&self, digest: &str, file: &mut File, size: u64) -> io::Result<Tag> {
        let mut context = Context::with_key(&self.0);
        context.update(digest.as_bytes());
        let mut code = file.take(size);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match code.read(&mut chunk)? {
                0 => break,
                read => context.update(&chunk[..read]),
            }
        }
        file.seek(SeekFrom::Start(size))?;
        Ok(context.sign())
    }
}

/// Reads the key; `None` if it is missing, damaged, or readable for other users of the machine.
fn read_key(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    match private_file::is_exposed(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(true) => Ok(None),
        Ok(false) => Ok(Some(Zeroizing::new(fs::read(path)?)).filter(|key| key.len() == KEY_BYTES)),
    }
}

fn make_key(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut key = Zeroizing::new(vec![0; KEY_BYTES]);
    rand::fill(&mut key).map_err(|_| io::Error::other("no random numbers"))?;
    private_file::replace(path, &key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use super::*;

    const DIGEST: &str = "a component's digest";

    fn sealed(seal: &Seal, code: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a scratch file");
        file.write_all(code).expect("a scratch file takes bytes");
        seal.append(DIGEST, &mut file).expect("it can be sealed");
        file
    }

    fn seal() -> Seal {
        Seal::open(tempfile::tempdir().expect("a scratch directory").path()).expect("a key can be made")
    }

    /// Changes the byte whatever it is: those of a seal are any.
    fn change(file: &File, place: u64) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, place).expect("a place in the file");
        file.write_all_at(&[!byte[0]], place).expect("a scratch file takes bytes");
    }

    #[test]
    fn every_byte_is_under_the_seal_and_the_component_too() {
        let seal = seal();
        let code = vec![7; CHUNK_BYTES + 3];
        let mut file = sealed(&seal, &code);
        seal.check(DIGEST, &mut file).expect("nothing was changed");

        assert!(seal.check("another component", &mut file).is_err());
        let end = code.len() as u64 + SEAL_BYTES as u64;
        for place in [
            0,
            CHUNK_BYTES as u64 - 1,
            CHUNK_BYTES as u64,
            end - SEAL_BYTES as u64 - 1,
            end - SEAL_BYTES as u64,
        ] {
            let mut file = sealed(&seal, &code);
            change(&file, place);
            assert!(seal.check(DIGEST, &mut file).is_err(), "byte {place} of {end}");
        }
        for size in [0, 1, SEAL_BYTES as u64, end - 1, end + 1] {
            file.set_len(size).expect("a scratch file has any size");
            assert!(seal.check(DIGEST, &mut file).is_err(), "{size} bytes of {end}");
        }
    }

    #[test]
    fn a_file_that_others_can_write_to_is_refused_although_its_seal_is_whole() {
        let seal = seal();
        let mut file = sealed(&seal, b"code");

        for (mode, accepted) in [(0o600, true), (0o644, true), (0o664, false), (0o602, false)] {
            file.set_permissions(fs::Permissions::from_mode(mode)).expect("the file is ours");
            assert_eq!(seal.check(DIGEST, &mut file).is_ok(), accepted, "{mode:o}");
        }
    }

    #[test]
    fn the_seal_of_another_server_is_worth_nothing() {
        let mut file = sealed(&seal(), b"code");

        assert!(seal().check(DIGEST, &mut file).is_err());
    }

    #[test]
    fn the_key_is_made_once_for_its_owner_alone_and_again_when_it_cannot_be_used() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let path = directory.path().join(KEY_FILE);
        let key = || {
            Seal::open(directory.path()).expect("the directory can be written");
            (
                fs::read(&path).expect("a key"),
                fs::metadata(&path).expect("a key").permissions().mode() & 0o777,
            )
        };

        let (first, mode) = key();
        assert_eq!((first.len(), mode), (KEY_BYTES, 0o600));
        assert_eq!(key(), (first.clone(), mode));

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("the file is ours");
        let (second, mode) = key();
        assert_ne!(second, first);
        assert_eq!(mode, 0o600);

        fs::write(&path, "short").expect("the file is ours");
        assert_eq!(key().0.len(), KEY_BYTES);
    }
}
