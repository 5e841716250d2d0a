//! Errors of certificates.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use kitbag_base::ownership::shell_quoted;
use thiserror::Error;

use super::CertificateFiles;

/// Why a certificate with its key cannot be used. No message contains anything of a key.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {path}: {cause}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// It is larger than any certificate.
    #[error("{} has more than 1 MiB", .0.display())]
    TooLarge(PathBuf),
    /// Other users of the machine can read the key.
    #[error(
        "other users of this machine can read the private key {path}; run: chmod go-rwx {argument}\nthey may have read \
         it: get a certificate with another key, and have this one revoked",
        path = .0.display(), argument = shell_quoted(.0)
    )]
    Exposed(PathBuf),
    /// It is not in PEM, or was cut off.
    #[error("{path} is not in PEM, or only a part of it was written: {reason}", path = .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
    },
    /// There is no certificate in it.
    #[error("{} has no certificate in PEM", .0.display())]
    NoCertificate(PathBuf),
    /// There is no key in it that can be read without a passphrase.
    #[error("{} has no private key in PEM, or one with a passphrase", .0.display())]
    NoKey(PathBuf),
    /// The key is another certificate's.
    #[error(
        "the private key in {key} is not that of the certificate in {certificate}",
        key = .0.key.display(), certificate = .0.certificate.display()
    )]
    Mismatch(CertificateFiles),
    /// It is of a kind that is not supported, or malformed inside.
    #[error("{path} cannot be used: {reason}", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl CertificateError {
    pub(super) fn unreadable(path: &Path, cause: impl Into<io::Error>) -> Self {
        Self::Unreadable { path: path.to_owned(), cause: cause.into() }
    }

    pub(super) fn unusable(path: &Path, reason: &dyn Display) -> Self {
        Self::Unusable { path: path.to_owned(), reason: reason.to_string() }
    }
}
