//! Certificate of a server that terminates TLS itself.

use kitbag_net::certificate::{Certificate, CertificateError, CertificateFiles};
use url::Url;

use super::{Finding, Report};

/// Certificate that a server presents to clients.
#[derive(Clone, Debug)]
pub struct Presented {
    /// Paths of the certificate and its key.
    pub files: CertificateFiles,
    /// URL of the server, if it is known.
    pub url: Option<Url>,
}

pub(super) fn check(presented: Option<&Presented>, report: &mut Report) {
    let Some(Presented { files, url }) = presented else { return };
    let certificate = match Certificate::read(files) {
        Ok(certificate) => certificate,
        Err(error) => {
            report.findings.push(unusable(&error));
            return;
        }
    };
    let expires = certificate.not_after();
    if !certificate.is_valid() {
        report.findings.push(Finding::new(
            format!("the certificate is not valid, so that clients refuse it: it expires at {expires}"),
            "have it renewed, and look at the clock of this machine; a running server reads it again within minutes",
        ));
    } else if certificate.expires_soon() {
        report.findings.push(Finding::new(
            format!("the certificate expires soon: at {expires}"),
            "have it renewed; a running server reads it again within minutes",
        ));
    } else {
        report.notes.push(format!("the certificate is valid until {expires}"));
    }
    if let Some(url) = url
        && !certificate.is_for(url)
    {
        report.findings.push(Finding::new(
            format!("the certificate is not for the server's URL, {url}, so that clients refuse it"),
            "get one that names the URL's host, or set base-url to a URL with a host that it names",
        ));
    }
}

fn unusable(error: &CertificateError) -> Finding {
    let remedy = match error {
        CertificateError::Exposed(_) => {
            "take the permissions of other users from it; get a certificate with another key, and have this one revoked"
        }
        CertificateError::Unreadable { .. } => {
            "run this command as the server's user, who has to be able to read it"
        }
        _ => "have it renewed, or put both files of one renewal in place",
    };
    let what =
        format!("{error}\na server does not start with it, and one that runs keeps what it has read before");
    Finding::new(what, remedy)
}
