//! Check of `Host` and `Origin`.
//!
//! A page of any origin can make a browser send requests to a server on the same machine or network, and read
//! the responses after DNS rebinding. Both show in `Host` and `Origin`.

use std::collections::HashSet;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use url::{Position, Url};

use crate::names::base_urls;
use crate::state::Shared;

/// The server's own host, and the origins of pages that may call it.
pub(crate) struct OriginCheck {
    /// Names of the server, which have port and scheme in common.
    hosts: Vec<String>,
    port: Option<u16>,
    scheme: String,
    /// Host and port as in the base URL: the `Host` of most requests (fast path).
    usual: String,
    /// Origins in the form of browsers: without the scheme's default port (RFC 6454, section 6.2).
    origins: HashSet<String>,
    own: String,
}

impl OriginCheck {
    pub(crate) fn of(shared: &Shared) -> Self {
        Self::new(&base_urls(shared), &shared.allowed_origins)
    }

    /// Allows the server's own hosts, the origin of its pages, which is that of the first base URL, and the
    /// origins that the operator lists.
    pub(super) fn new(base_urls: &[Url], allowed_origins: &[String]) -> Self {
        let base_url = &base_urls[0];
        let own = base_url.origin().ascii_serialization();
        let allowed = allowed_origins.iter().filter_map(|origin| Url::parse(origin).ok());
        let origins = allowed.map(|origin| origin.origin().ascii_serialization()).chain([own.clone()]);
        Self {
            hosts: base_urls.iter().filter_map(|url| url.host_str().map(str::to_owned)).collect(),
            port: base_url.port_or_known_default(),
            scheme: base_url.scheme().to_owned(),
            usual: base_url[Position::BeforeHost..Position::AfterPort].to_owned(),
            origins: origins.collect(),
            own,
        }
    }

    /// Foreign origins whose pages may read responses.
    pub(super) fn other_pages(&self) -> Vec<HeaderValue> {
        let foreign = self.origins.iter().filter(|origin| **origin != self.own);
        foreign.filter_map(|origin| HeaderValue::from_str(origin).ok()).collect()
    }

    pub(super) fn allows(&self, request: &Request) -> Result<(), String> {
        let headers = request.headers();
        let host = single(headers, &header::HOST).or(request.uri().authority().map(Authority::as_str));
        if !host.is_some_and(|host| self.is_own(host)) {
            return Err(format!("the Host of the request is not this server: use {}/mcp", self.own));
        }
        if headers.contains_key(header::ORIGIN)
            && !single(headers, &header::ORIGIN).is_some_and(|origin| self.origins.contains(origin))
        {
            let why = "pages of this Origin may not call this server; its operator can allow them";
            return Err(why.to_owned());
        }
        Ok(())
    }

    fn is_own(&self, host: &str) -> bool {
        if host == self.usual {
            return true;
        }
        // The URL parser removes tabs and accepts a path, so the text must be a valid host and port first.
        if host.contains('@') || host.parse::<Authority>().is_err() {
            return false;
        }
        // The URL parser normalises every spelling of a host and the scheme's default port.
        let called = format!("{}://{host}", self.scheme).parse::<Url>();
        called.is_ok_and(|called| {
            called.host_str().is_some_and(|host| self.hosts.iter().any(|own| own == host))
                && called.port_or_known_default() == self.port
                && called.username().is_empty()
                && called.password().is_none()
                && called.path() == "/"
                && called.query().is_none()
                && called.fragment().is_none()
        })
    }
}

/// Returns the value of a header that occurs exactly once.
fn single<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let only = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use kitbag_base::loopback::loopback_names;

    use super::*;

    fn check(base_url: &str) -> OriginCheck {
        let allowed = ["https://app.example".to_owned(), "http://localhost:3000".to_owned()];
        OriginCheck::new(&loopback_names(&base_url.parse().expect("a URL")), &allowed)
    }

    fn passes(check: &OriginCheck, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::post("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check.allows(&request.body(Body::empty()).expect("a request")).is_ok()
    }

    #[test]
    fn only_the_servers_own_name_passes() {
        let check = check("https://kb.example");

        for host in ["kb.example", "KB.example", "kb.example:443"] {
            assert!(passes(&check, &[("host", host)]), "{host}");
        }
        for host in [
            "kb.example:80",
            "kb.example:8443",
            "evil.example",
            "kb.example.evil.example",
            "",
            "a@kb.example",
            "@kb.example",
            "kb.example/",
            "kb.example\\",
            "kb.exa\tmple",
        ] {
            assert!(!passes(&check, &[("host", host)]), "{host}");
        }
        assert!(!passes(&check, &[]));
        assert!(!passes(&check, &[("host", "kb.example"), ("host", "kb.example")]));
    }

    #[test]
    fn a_server_on_loopback_has_its_other_names_at_the_same_port() {
        let check = check("http://127.0.0.1:8787");

        for host in ["127.0.0.1:8787", "localhost:8787", "LOCALHOST:8787", "[::1]:8787"] {
            assert!(passes(&check, &[("host", host)]), "{host}");
        }
        for host in
            ["localhost", "localhost:8788", "127.0.0.2:8787", "localhost.evil.example:8787", "0.0.0.0:8787"]
        {
            assert!(!passes(&check, &[("host", host)]), "{host}");
        }
        assert!(!passes(&check, &[("host", "localhost:8787"), ("origin", "http://localhost:8787")]));
    }

    #[test]
    fn an_origin_without_a_port_is_its_schemes_default_port_and_no_other() {
        let check = check("http://127.0.0.1:8787");
        let from = |origin| passes(&check, &[("host", "127.0.0.1:8787"), ("origin", origin)]);

        for origin in ["http://127.0.0.1:8787", "https://app.example", "http://localhost:3000"] {
            assert!(from(origin), "{origin}");
        }
        for origin in [
            "https://app.example:8443",
            "http://app.example",
            "http://localhost",
            "http://localhost:3001",
            "http://127.0.0.1",
            "null",
            "",
            "https://app.example.evil.example",
        ] {
            assert!(!from(origin), "{origin}");
        }
    }

    #[test]
    fn other_pages_are_listed_and_the_servers_own_are_not() {
        let mut pages = check("http://127.0.0.1:8787").other_pages();
        pages.sort();

        assert_eq!(pages, ["http://localhost:3000", "https://app.example"]);
    }
}
