//! Files of a certificate and its private key.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Mode, OFlags};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretSlice};

use super::CertificateError;

/// Maximum size of a file, in bytes; far more than a certificate chain needs.
const MAX_BYTES: u64 = 1 << 20;

/// Paths of a certificate and its key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// Certificate, followed by those of the intermediate authorities.
    pub certificate: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
}

/// Metadata of certificate and key file, to detect changes; `None` for a missing file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp([Option<FileStamp>; 2]);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: Option<SystemTime>,
}

impl CertificateFiles {
    /// Reads the metadata of both files. Blocks.
    pub(super) fn stamp(&self) -> Stamp {
        let of = |path: &Path| {
            let file = fs::metadata(path).ok()?;
            let device = file.dev();
            let inode = file.ino();
            let length = file.len();
            Some(FileStamp { device, inode, length, modified: file.modified().ok() })
        };
        Stamp([of(&self.certificate), of(&self.key)])
    }
}

/// Reads a certificate chain with at least one certificate.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let (text, _) = read(path)?;
    let chain = CertificateDer::pem_slice_iter(text.expose_secret()).collect::<Result<Vec<_>, _>>();
    match chain.map_err(|error| malformed(path, &error))? {
        chain if chain.is_empty() => Err(CertificateError::NoCertificate(path.to_owned())),
        chain => Ok(chain),
    }
}

/// Reads a private key. Fails if other users can access the file.
pub(super) fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, CertificateError> {
    let (text, metadata) = read(path)?;
    if is_exposed(&metadata, rustix::process::geteuid().as_raw()) {
        return Err(CertificateError::Exposed(path.to_owned()));
    }
    PrivateKeyDer::from_pem_slice(text.expose_secret()).map_err(|error| match error {
        pem::Error::NoItemsFound => CertificateError::NoKey(path.to_owned()),
        error => malformed(path, &error),
    })
}

fn read(path: &Path) -> Result<(SecretSlice<u8>, Metadata), CertificateError> {
    let unreadable = |cause: io::Error| CertificateError::unreadable(path, cause);
    // Non-blocking: opening a pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is not a file")));
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(CertificateError::TooLarge(path.to_owned()));
    }
    Ok((text.into(), metadata))
}

/// Whether users other than `user` and root can access a key file. A file of root may be readable by its
/// group: tools that renew certificates share keys this way, and access control lists appear as group
/// permissions. `PostgreSQL` has the same rule.
fn is_exposed(metadata: &Metadata, user: u32) -> bool {
    const OTHER_USERS: u32 = 0o077;
    const BUT_READING_GROUP: u32 = 0o037;

    let forbidden = match metadata.uid() {
        owner if owner == user => OTHER_USERS,
        0 => BUT_READING_GROUP,
        _ => return true,
    };
    metadata.mode() & forbidden != 0
}

/// Converts a parser error without quoting it: it may contain a part of the file.
fn malformed(path: &Path, error: &pem::Error) -> CertificateError {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no end",
        pem::Error::Base64Decode(_) => "a section is not base64",
        _ => "a section cannot be read",
    };
    CertificateError::Malformed { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::testing::Authority;
    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let files = Authority::generate().issue(&["kb.example"]).write(folder.path());
        assert!(private_key(&files.key).is_ok());

        for mode in [0o400, 0o600] {
            set_mode(&files.key, mode);
            assert!(private_key(&files.key).is_ok(), "{mode:o}");
        }
        for mode in [0o640, 0o604, 0o660, 0o666, 0o620, 0o602] {
            set_mode(&files.key, mode);
            let refused = private_key(&files.key).expect_err("it is exposed");
            assert!(matches!(refused, CertificateError::Exposed(_)), "{mode:o}: {refused}");
        }
    }

    #[test]
    fn a_key_of_root_may_be_readable_for_a_group_and_one_of_others_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a scratch file");
        let owner = file.as_file().metadata().expect("a file").uid();
        let exposed = |mode: u32, user: u32| {
            set_mode(file.path(), mode);
            is_exposed(&file.as_file().metadata().expect("a file"), user)
        };

        assert!(!exposed(0o600, owner));
        // As root, this is the case of a root-owned file; otherwise of a file owned by another user.
        let other = owner + 1;
        assert_eq!(exposed(0o640, other), owner != 0);
        for mode in [0o660, 0o644, 0o604] {
            assert!(exposed(mode, other), "{mode:o}");
        }
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("there is `mkfifo`");
        assert!(made.success());

        for path in [pipe.as_path(), folder.path(), &folder.path().join("absent")] {
            assert!(matches!(certificates(path), Err(CertificateError::Unreadable { .. })), "{path:?}");
        }
    }
}
