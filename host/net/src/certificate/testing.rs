//! Test certificates, issued by test authorities.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};

/// Time in `$days` days. A macro, since the time type of `rcgen` cannot be named here.
macro_rules! days_from_now {
    ($days:expr) => {{
        let time = Timestamp::now().to_zoned(TimeZone::UTC).saturating_add($days.days());
        let small = |number: i8| u8::try_from(number).expect("not negative");
        date_time_ymd(time.year().into(), small(time.month()), small(time.day()))
            + Duration::from_secs(3600 * u64::from(small(time.hour())))
    }};
}

/// Certificate authority that only the test itself trusts.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub struct Issued {
    /// Certificate in PEM.
    pub certificate: String,
    /// Private key in PEM.
    pub key: String,
}

/// Paths of a written certificate and its key.
#[derive(Clone)]
pub struct Files {
    /// The file with the certificate.
    pub certificate: PathBuf,
    /// The file with its key.
    pub key: PathBuf,
}

impl Authority {
    /// Creates an authority with a new key.
    pub fn generate() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Certificate of the authority, in PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certificate of the authority, in DER.
    pub fn der(&self) -> rustls::pki_types::CertificateDer<'static> {
        self.0.der().clone()
    }

    /// Issues a certificate for host names and IP addresses that expires in 90 days.
    pub fn issue(&self, names: &[&str]) -> Issued {
        self.issue_for_days(names, 90)
    }

    /// Issues a certificate that expires in `days` days.
    pub fn issue_for_days(&self, names: &[&str], days: i64) -> Issued {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        (params.not_before, params.not_after) = (days_from_now!(-30), days_from_now!(days));
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate").pem();
        Issued { certificate, key: key.serialize_pem() }
    }
}

impl Issued {
    /// Writes certificate and key into a folder; the key has the mode 0600.
    pub fn write(&self, folder: &Path) -> Files {
        let files = Files { certificate: folder.join("certificate.pem"), key: folder.join("key.pem") };
        self.write_over(&files);
        files
    }

    /// Overwrites existing files with certificate and key.
    pub fn write_over(&self, files: &Files) {
        fs::write(&files.certificate, &self.certificate).expect("it is ours");
        let key = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&files.key);
        key.and_then(|mut key| key.write_all(self.key.as_bytes())).expect("it is ours");
    }
}

/// Encodes bytes as a PEM section.
pub fn pem(label: &str, bytes: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", BASE64_STANDARD.encode(bytes))
}
