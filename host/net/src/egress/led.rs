//! Requests of the operator that a server leads to other hosts, by redirects or by URLs that it names.
//!
//! Invariant: a server at a public address leads to addresses that captures may reach, and to no others. One
//! at a private address may lead to any, because the operator trusts that network.

use http::Response;
use url::{Origin, Url};

use super::Policy;

/// Response extension: the server is certainly at a private address.
#[derive(Clone, Copy, Debug)]
pub(super) struct FromPrivateAddress;

/// The server that the operator named, and the policy for the places that it leads to.
#[derive(Clone, Debug)]
pub struct LedBy {
    origin: Origin,
    is_private: bool,
}

impl LedBy {
    /// Creates the rule for the server of a URL. The server counts as public until it has responded.
    pub fn server_of(url: &Url) -> Self {
        Self { origin: url.origin(), is_private: false }
    }

    /// Whether a URL has the server's origin (scheme, host and port).
    pub fn is_at(&self, url: &Url) -> bool {
        self.origin == url.origin()
    }

    /// Policy of a request to a URL that the server may have chosen.
    pub fn policy(&self, url: &Url) -> Policy {
        if self.is_private || self.is_at(url) {
            return Policy::Operator;
        }
        Policy::Capture { user: "led-by-a-server".into() }
    }

    /// Records where a response from `url` came from. Only those of the server itself count: the address of
    /// the connection, since a name may resolve to other addresses the next time.
    pub fn observe<T>(&mut self, url: &Url, response: &Response<T>) {
        if self.is_at(url) {
            self.is_private = response.extensions().get::<FromPrivateAddress>().is_some();
        }
    }
}
