//! The server's TLS certificate and private key: reading, consistency check, validity period and host names.
//!
//! Invariant: a key that other users of the machine can read is not used.

mod error;
mod files;
mod live;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use jiff::{SignedDuration, Timestamp};
use rustls::client::verify_server_name;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use url::Url;
use x509_cert::der::Decode;

pub use error::CertificateError;
pub use files::CertificateFiles;
pub use live::{CertificateStatus, LiveCertificate};

/// Remaining validity below which renewal is overdue. Certificates for 90 days are usually renewed 30 days
/// before expiry.
const RENEWAL_MARGIN: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Certificate chain, with the private key of its first certificate.
pub struct Certificate {
    key: Arc<CertifiedKey>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Certificate {
    /// Reads the files, and checks that certificate and key match. Blocks.
    pub fn read(files: &CertificateFiles) -> Result<Self, CertificateError> {
        let CertificateFiles { certificate, key } = files;
        let chain = files::certificates(certificate)?;
        let unusable = |path, error: &dyn std::fmt::Display| CertificateError::unusable(path, error);
        let (not_before, not_after) = validity(&chain[0]).map_err(|error| unusable(certificate, &error))?;
        let private = aws_lc_rs::default_provider().key_provider.load_private_key(files::private_key(key)?);
        let pair = CertifiedKey::new(chain, private.map_err(|error| unusable(key, &error))?);
        match pair.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(Error::InconsistentKeys(_)) => return Err(CertificateError::Mismatch(files.clone())),
            Err(error) => return Err(unusable(certificate, &error)),
        }
        Ok(Self { key: Arc::new(pair), not_before, not_after })
    }

    /// Expiry of the certificate.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Whether the current time is within the validity period.
    pub fn is_valid(&self) -> bool {
        (self.not_before..=self.not_after).contains(&Timestamp::now())
    }

    /// Whether the certificate expires in less than 14 days: its renewal is overdue.
    pub fn expires_soon(&self) -> bool {
        self.not_after.duration_since(Timestamp::now()) < RENEWAL_MARGIN
    }

    /// Whether the certificate is for the host of a URL.
    pub fn is_for(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let (Ok(name), Ok(certificate)) = (ServerName::try_from(host), self.key.end_entity_cert()) else {
            return false;
        };
        ParsedCertificate::try_from(certificate)
            .is_ok_and(|certificate| verify_server_name(&certificate, &name).is_ok())
    }
}

/// Returns the validity period of a certificate: `notBefore` and `notAfter`.
fn validity(certificate: &CertificateDer<'_>) -> Result<(Timestamp, Timestamp), x509_cert::der::Error> {
    let certificate = x509_cert::Certificate::from_der(certificate)?;
    let validity = certificate.tbs_certificate().validity();
    // The format's latest time means no expiry (RFC 5280, section 4.1.2.5); it is beyond `Timestamp::MAX`.
    let timestamp = |time: x509_cert::time::Time| {
        Timestamp::try_from(UNIX_EPOCH + time.to_unix_duration()).unwrap_or(Timestamp::MAX)
    };
    Ok((timestamp(validity.not_before), timestamp(validity.not_after)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::testing::{Authority, Issued, pem};
    use super::*;

    /// Writes a pair into a temporary folder; returns the folder and the paths.
    fn written(pair: &Issued) -> (tempfile::TempDir, CertificateFiles) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let testing::Files { certificate, key } = pair.write(folder.path());
        (folder, CertificateFiles { certificate, key })
    }

    #[test]
    fn a_pair_says_how_long_it_is_valid_and_for_whom() {
        let pair = Authority::generate().issue_for_days(&["kb.example", "127.0.0.1", "::1"], 20);

        let (_folder, files) = written(&pair);

        let read = Certificate::read(&files).expect("a pair");
        assert!(read.is_valid() && !read.expires_soon());
        let left = read.not_after().duration_since(Timestamp::now()).as_hours();
        assert!((19 * 24..=20 * 24).contains(&left), "{left} hours");
        for (url, expected) in [
            ("https://kb.example", true),
            ("https://KB.example:8787", true),
            ("https://127.0.0.1:8787", true),
            ("https://[::1]:8787", true),
            ("https://other.example", false),
            ("https://sub.kb.example", false),
            ("https://127.0.0.2", false),
        ] {
            assert_eq!(read.is_for(&url.parse().expect("a URL")), expected, "{url}");
        }
    }

    #[test]
    fn a_pair_near_or_after_its_end_is_told_from_others() {
        let authority = Authority::generate();

        for (days, is_valid, expires_soon) in
            [(16, true, false), (13, true, true), (1, true, true), (-1, false, true)]
        {
            let (_folder, files) = written(&authority.issue_for_days(&["kb.example"], days));
            let read = Certificate::read(&files).expect("a pair");
            assert_eq!((read.is_valid(), read.expires_soon()), (is_valid, expires_soon), "{days} days");
        }
    }

    #[test]
    fn what_is_no_pair_is_refused_without_quoting_it() {
        let authority = Authority::generate();
        let pair = authority.issue(&["kb.example"]);
        let other = authority.issue(&["kb.example"]);
        let (_folder, files) = written(&pair);
        let certificate = pair.certificate.as_str();
        let key = pair.key.as_str();
        let half = |text: &str| text[..text.len() / 2].to_owned();

        for (certificate, key, words) in [
            (half(certificate), key.to_owned(), "only a part of it"),
            (format!("{certificate}{}", half(certificate)), key.to_owned(), "only a part of it"),
            (certificate.to_owned(), half(key), "only a part of it"),
            (String::new(), key.to_owned(), "has no certificate"),
            (key.to_owned(), key.to_owned(), "has no certificate"),
            (certificate.to_owned(), String::new(), "has no private key"),
            (certificate.to_owned(), certificate.to_owned(), "has no private key"),
            (certificate.to_owned(), key.replace("PRIVATE", "ENCRYPTED PRIVATE"), "has no private key"),
            (certificate.to_owned(), other.key.clone(), "is not that of the certificate"),
            (pem("CERTIFICATE", b"not a certificate"), key.to_owned(), "cannot be used"),
            (certificate.to_owned(), pem("PRIVATE KEY", b"not a key"), "cannot be used"),
            ("x".repeat(2 << 20), key.to_owned(), "1 MiB"),
        ] {
            fs::write(&files.certificate, certificate).expect("it is ours");
            fs::write(&files.key, key).expect("it is ours");

            let refused = Certificate::read(&files).err().expect("no pair").to_string();

            assert!(refused.contains(words), "no {words:?} in {refused}");
            let secret = pair.key.lines().nth(1).expect("base64");
            assert!(!refused.contains(&secret[..16]), "{refused}");
        }
    }
}
