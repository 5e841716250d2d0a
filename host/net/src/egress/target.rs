//! The normalised target of a request, which every check uses.

use http::uri::{PathAndQuery, Scheme};
use http::{Uri, uri};
use kitbag_base::loopback::is_loopback_host;
use url::{Host, Url};

use super::EgressError;

/// Scheme, host and port of an outbound request, normalised.
///
/// Invariant: the host is as the WHATWG URL parser serialises it (percent-decoded, IDNA, lower case,
/// `127.1` and `0x7f.1` parsed as addresses) and has no trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    scheme: Scheme,
    host: Host,
    port: u16,
}

impl Target {
    /// Reads the target from an absolute `http` or `https` URI without user information.
    pub(super) fn of(uri: &Uri) -> Result<Self, EgressError> {
        let scheme = uri.scheme().ok_or(invalid("it has no scheme"))?;
        if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
            return Err(invalid("only http and https are possible"));
        }
        let authority = uri.authority().ok_or(invalid("it has no host"))?.as_str();
        if authority.contains('@') {
            return Err(invalid("user information is not allowed"));
        }
        // The whole authority is parsed again, port included: `http::Uri` treats a port that is not a
        // number as absent.
        let url = Url::parse(&format!("{scheme}://{authority}/"))
            .map_err(|_| invalid("its host or port is malformed"))?;
        let host = without_trailing_dot(url.host().ok_or(invalid("it has no host"))?.to_owned())?;
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(invalid("port 0"))?;
        Ok(Self { scheme: scheme.clone(), host, port })
    }

    pub(super) fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Whether the host is a loopback address or `localhost`.
    pub(super) fn is_loopback(&self) -> bool {
        is_loopback_host(&self.host)
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Whether the port is the scheme's default.
    pub(super) fn has_default_port(&self) -> bool {
        self.port == if self.is_https() { 443 } else { 80 }
    }

    /// The host, with its port unless the scheme implies it: also the entry that grants it in `egress`.
    pub(super) fn authority(&self) -> String {
        if self.has_default_port() { self.host.to_string() } else { format!("{}:{}", self.host, self.port) }
    }

    /// Builds the URI to send: this target with the path and query of `original`.
    pub(super) fn apply(&self, original: &Uri) -> Result<Uri, EgressError> {
        let path = original.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
        uri::Builder::new()
            .scheme(self.scheme.clone())
            .authority(self.authority())
            .path_and_query(path)
            .build()
            .map_err(|_| invalid("its host or path is malformed"))
    }
}

/// Removes the trailing dot of a fully qualified name: `example.com.` and `example.com` are the same host.
fn without_trailing_dot(host: Host) -> Result<Host, EgressError> {
    let Host::Domain(name) = host else { return Ok(host) };
    let name = name.strip_suffix('.').unwrap_or(&name);
    if name.is_empty() || name.split('.').any(str::is_empty) {
        return Err(invalid("its host has an empty label"));
    }
    Ok(Host::Domain(name.to_owned()))
}

fn invalid(reason: &'static str) -> EgressError {
    EgressError::InvalidRequest { reason }
}
