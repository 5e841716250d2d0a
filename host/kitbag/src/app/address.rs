//! The public URL of a server, and its certificate.

use kitbag_net::certificate::{CertificateError, CertificateFiles, LiveCertificate};
use tokio::task::spawn_blocking;
use url::Url;

use super::error::StartError;
use super::listeners::Listeners;
use crate::settings::{Listen, Settings};

/// The public URL, with the certificate if this server terminates TLS.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) base_url: Url,
    pub(super) certificate: Option<LiveCertificate>,
}

impl Address {
    /// Returns the address of a server that listens on these sockets.
    pub(super) async fn of(settings: &Settings, listeners: &Listeners) -> Result<Self, StartError> {
        let addresses: Vec<_> = listeners.addresses().iter().filter_map(Listen::tcp).collect();
        let base_url = settings.base_url(&addresses)?;
        let certificate = open_certificate(settings, &base_url).await?;
        Ok(Self { base_url, certificate })
    }
}

/// Paths of the TLS certificate and its key; `None` if the server speaks plain HTTP.
pub fn certificate_files(settings: &Settings) -> Option<CertificateFiles> {
    let (certificate, key) = settings.tls()?;
    Some(CertificateFiles { certificate: certificate.to_owned(), key: key.to_owned() })
}

/// Loads the certificate, if one is configured, and reloads it whenever it changes.
async fn open_certificate(
    settings: &Settings,
    base_url: &Url,
) -> Result<Option<LiveCertificate>, CertificateError> {
    let Some(files) = certificate_files(settings) else { return Ok(None) };
    let url = base_url.clone();
    let opened = spawn_blocking(move || LiveCertificate::open(files, &url)).await;
    let certificate = opened.expect("reading a certificate does not panic")?;
    certificate.watch();
    Ok(Some(certificate))
}
