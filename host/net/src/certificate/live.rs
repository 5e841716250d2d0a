//! The certificate in use, which is reloaded when its files change.
//!
//! Invariant: an unusable pair never replaces a usable one, whatever is written to the files.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tracing::{info, warn};
use url::Url;

use super::files::Stamp;
use super::{Certificate, CertificateError, CertificateFiles};

/// Timing of the check for changed files.
const WATCH: Watch = Watch { interval: Duration::from_mins(1), settling: Duration::from_secs(2) };
/// Minimum interval between log warnings of expiry.
const REMINDER: Duration = Duration::from_hours(24);

/// The certificate that a server presents. Clones share it.
#[derive(Clone)]
pub struct LiveCertificate(Arc<Live>);

struct Live {
    current: ArcSwap<Certificate>,
    source: Mutex<Source>,
    /// Public URL of the server.
    url: Url,
}

/// Files of the certificate, and state of the last reload.
struct Source {
    files: CertificateFiles,
    /// Metadata of the files when they were last read.
    stamp: Stamp,
    /// Whether the pair that was last read is unusable.
    is_refused: bool,
    /// Time of the last log warning of expiry.
    reminded: Option<Instant>,
}

/// Timing of the check for changed files.
#[derive(Clone, Copy, Debug)]
struct Watch {
    interval: Duration,
    /// Time for which changed files must be stable before they are read: two files are not replaced
    /// atomically.
    settling: Duration,
}

/// Status of the certificate in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateStatus {
    /// The certificate is valid, and its renewal is not overdue.
    Good,
    /// The files have changed, and the new pair is unusable.
    NotRenewed,
    /// The certificate expires in less than 14 days: its renewal is overdue.
    ExpiresSoon,
    /// The certificate has expired, or is not valid yet.
    NotValid,
}

impl LiveCertificate {
    /// Reads the certificate of the server with the public URL `url`. Blocks.
    pub fn open(files: CertificateFiles, url: &Url) -> Result<Self, CertificateError> {
        let stamp = files.stamp();
        let certificate = Certificate::read(&files)?;
        let source = Mutex::new(Source { files, stamp, is_refused: false, reminded: None });
        let live = Live { current: ArcSwap::from_pointee(certificate), source, url: url.clone() };
        live.announce();
        Ok(Self(Arc::new(live)))
    }

    /// Loads the certificate from these files. If it is unusable, keeps the one in use, and logs the reason.
    /// Blocks.
    pub fn renew(&self, files: CertificateFiles) {
        self.0.renew(files);
    }

    /// Starts a task that reloads the files whenever they change, until all clones are dropped.
    pub fn watch(&self) {
        tokio::spawn(keep_renewing(Arc::downgrade(&self.0), WATCH));
    }

    /// Expiry of the certificate in use.
    pub fn not_after(&self) -> Timestamp {
        self.0.current.load().not_after()
    }

    /// Status of the certificate in use.
    pub fn status(&self) -> CertificateStatus {
        let current = self.0.current.load();
        if !current.is_valid() {
            CertificateStatus::NotValid
        } else if self.0.source().is_refused {
            CertificateStatus::NotRenewed
        } else if current.expires_soon() {
            CertificateStatus::ExpiresSoon
        } else {
            CertificateStatus::Good
        }
    }
}

/// Shows no part of the key.
impl fmt::Debug for LiveCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LiveCertificate").field("not_after", &self.not_after()).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for LiveCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.current.load().key.clone())
    }
}

impl Live {
    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renew(&self, files: CertificateFiles) {
        // Taken before reading: a change in between is detected by the next check.
        let stamp = files.stamp();
        let read = Certificate::read(&files).map_err(|error| error.to_string()).and_then(|new| {
            if new.is_valid() || !self.current.load().is_valid() {
                Ok(new)
            } else {
                Err(format!(
                    "the certificate in {} has expired, or is not valid yet",
                    files.certificate.display()
                ))
            }
        });
        let mut source = self.source();
        let reminded = source.reminded.filter(|_| read.is_err());
        *source = Source { files, stamp, is_refused: read.is_err(), reminded };
        drop(source);
        match read {
            Ok(new) => {
                self.current.store(Arc::new(new));
                self.announce();
            }
            Err(cause) => {
                warn!(%cause, expires = %self.current.load().not_after(), "the certificate cannot be renewed; the one in use stays");
            }
        }
    }

    fn announce(&self) {
        let current = self.current.load();
        info!(expires = %current.not_after(), "the certificate is in use");
        if !current.is_for(&self.url) {
            warn!(url = %self.url, "the certificate is not for the server's URL: clients will refuse it");
        }
        self.remind();
    }

    /// Logs, at most once a day, that the certificate is not valid or expires soon.
    fn remind(&self) {
        let current = self.current.load();
        let mut source = self.source();
        let is_good = current.is_valid() && !current.expires_soon();
        if is_good || source.reminded.is_some_and(|at| at.elapsed() < REMINDER) {
            return;
        }
        source.reminded = Some(Instant::now());
        let expires = current.not_after();
        if current.is_valid() {
            warn!(%expires, "the certificate expires soon, and has not been renewed");
        } else {
            warn!(%expires, "the certificate has expired, or is not valid yet: clients refuse it");
        }
    }

    /// Returns the files and their new stamp, if they have changed since they were read.
    fn changed(&self) -> Option<(CertificateFiles, Stamp)> {
        let (files, read) = {
            let source = self.source();
            (source.files.clone(), source.stamp.clone())
        };
        let stamp = files.stamp();
        (stamp != read).then_some((files, stamp))
    }
}

async fn keep_renewing(live: Weak<Live>, watch: Watch) {
    loop {
        sleep(watch.interval).await;
        let Some(live) = live.upgrade() else { return };
        let look =
            |live: Arc<Live>| async move { spawn_blocking(move || live.changed()).await.ok().flatten() };
        if let Some((files, stamp)) = look(live.clone()).await {
            sleep(watch.settling).await;
            if look(live.clone()).await.is_some_and(|(_, later)| later == stamp) {
                let live = live.clone();
                // A panic has been logged; the next check tries again.
                let _ = spawn_blocking(move || live.renew(files)).await;
            }
        }
        live.remind();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::testing::{Authority, Files, Issued};
    use super::*;

    const OFTEN: Watch = Watch { interval: Duration::from_millis(5), settling: Duration::from_millis(20) };

    /// Certificate of a server, with its files and issuer.
    struct Scratch {
        authority: Authority,
        files: Files,
        live: LiveCertificate,
        _folder: tempfile::TempDir,
    }

    fn named(files: &Files) -> CertificateFiles {
        CertificateFiles { certificate: files.certificate.clone(), key: files.key.clone() }
    }

    impl Scratch {
        fn new() -> Self {
            let authority = Authority::generate();
            let folder = tempfile::tempdir().expect("a scratch directory");
            let files = authority.issue(&["kb.example"]).write(folder.path());
            let url = "https://kb.example".parse().expect("a URL");
            let live = LiveCertificate::open(named(&files), &url).expect("a pair");
            Self { authority, files, live, _folder: folder }
        }

        /// Certificate in use, in DER.
        fn presented(&self) -> Vec<u8> {
            self.live.0.current.load().key.cert[0].to_vec()
        }

        fn renew(&self) {
            self.live.renew(named(&self.files));
        }
    }

    fn der(pair: &Issued) -> Vec<u8> {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;

        CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM").to_vec()
    }

    async fn eventually(mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !holds() {
            assert!(Instant::now() < deadline, "it does not become so");
            sleep(Duration::from_millis(2)).await;
        }
    }

    #[tokio::test]
    async fn files_that_change_are_read_by_themselves() {
        let scratch = Scratch::new();
        tokio::spawn(keep_renewing(Arc::downgrade(&scratch.live.0), OFTEN));
        let next = scratch.authority.issue(&["kb.example"]);

        next.write_over(&scratch.files);

        eventually(|| scratch.presented() == der(&next)).await;
        assert_eq!(scratch.live.status(), CertificateStatus::Good);
    }

    #[tokio::test]
    async fn a_pair_that_is_half_written_keeps_the_one_in_use_until_it_is_whole() {
        let scratch = Scratch::new();
        let before = scratch.presented();
        tokio::spawn(keep_renewing(Arc::downgrade(&scratch.live.0), OFTEN));
        let next = scratch.authority.issue(&["kb.example"]);

        // A mismatched pair: the new certificate with the old key.
        fs::write(&scratch.files.certificate, &next.certificate).expect("it is ours");
        eventually(|| scratch.live.status() == CertificateStatus::NotRenewed).await;
        assert_eq!(scratch.presented(), before);

        next.write_over(&scratch.files);
        eventually(|| scratch.presented() == der(&next)).await;
        assert_eq!(scratch.live.status(), CertificateStatus::Good);
    }

    #[test]
    fn what_cannot_be_used_replaces_nothing() {
        let scratch = Scratch::new();
        let before = scratch.presented();
        let key = fs::read(&scratch.files.key).expect("a key");
        let good = fs::read(&scratch.files.certificate).expect("a certificate");
        let other = scratch.authority.issue(&["kb.example"]);
        let expired = scratch.authority.issue_for_days(&["kb.example"], -1);

        for (certificate, key) in [
            (good[..good.len() / 2].to_vec(), key.clone()),
            (good.clone(), key[..key.len() / 2].to_vec()),
            (other.certificate.into_bytes(), key.clone()),
            (good.clone(), other.key.into_bytes()),
            (Vec::new(), Vec::new()),
            (expired.certificate.into_bytes(), expired.key.into_bytes()),
        ] {
            fs::write(&scratch.files.certificate, certificate).expect("it is ours");
            fs::write(&scratch.files.key, key).expect("it is ours");
            scratch.renew();
            assert_eq!(scratch.presented(), before);
            assert_eq!(scratch.live.status(), CertificateStatus::NotRenewed);
        }
        fs::remove_file(&scratch.files.key).expect("it is ours");
        scratch.renew();
        assert_eq!((scratch.presented(), scratch.live.status()), (before, CertificateStatus::NotRenewed));
    }

    #[test]
    fn a_certificate_near_its_end_is_said_and_any_replaces_one_that_has_expired() {
        let scratch = Scratch::new();
        scratch.authority.issue_for_days(&["kb.example"], 13).write_over(&scratch.files);
        scratch.renew();
        assert_eq!(scratch.live.status(), CertificateStatus::ExpiresSoon);

        let folder = tempfile::tempdir().expect("a scratch directory");
        let files = scratch.authority.issue_for_days(&["kb.example"], -2).write(folder.path());
        let url = "https://kb.example".parse().expect("a URL");
        let live = LiveCertificate::open(named(&files), &url).expect("it starts nevertheless");
        assert_eq!(live.status(), CertificateStatus::NotValid);
        let before = live.not_after();
        scratch.authority.issue_for_days(&["kb.example"], -1).write_over(&files);
        live.renew(named(&files));
        assert!(live.not_after() > before);
    }

    #[test]
    fn the_key_is_not_shown() {
        let scratch = Scratch::new();

        let shown = format!("{:?}", scratch.live);

        assert!(shown.starts_with("LiveCertificate { not_after: ") && shown.len() < 80, "{shown}");
    }
}
