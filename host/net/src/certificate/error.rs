//! Errors of certificates.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use kitbag_base::ownership::shell_quoted;
use thiserror::Error;

use super::CertificateFiles;

/// Error of a certificate or its key. Messages contain no part of a key.
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
    /// A file is larger than 1 MiB.
    #[error("{} has more than 1 MiB", .0.display())]
    TooLarge(PathBuf),
    /// Other users of the machine can read the key.
    #[error(
        "other users of this machine can read the private key {path}; run: chmod go-rwx {argument}\nthey may have read \
         it: get a certificate with another key, and have this one revoked",
        path = .0.display(), argument = shell_quoted(.0)
    )]
    Exposed(PathBuf),
    /// A file is not in PEM, or is truncated.
    #[error("{path} is not in PEM, or only a part of it was written: {reason}", path = .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Reason of the failure.
        reason: &'static str,
    },
    /// The certificate file contains no certificate.
    #[error("{} has no certificate in PEM", .0.display())]
    NoCertificate(PathBuf),
    /// The key file contains no private key, or an encrypted one.
    #[error("{} has no private key in PEM, or one with a passphrase", .0.display())]
    NoKey(PathBuf),
    /// The key does not match the certificate.
    #[error(
        "the private key in {key} is not that of the certificate in {certificate}",
        key = .0.key.display(), certificate = .0.certificate.display()
    )]
    Mismatch(CertificateFiles),
    /// The certificate or key is malformed or of an unsupported type.
    #[error("{path} cannot be used: {reason}", path = .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Reason of the failure.
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
