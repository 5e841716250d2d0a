//! Check of the `Host` header, for routes that answer without authentication.
//!
//! After DNS rebinding, a page of any site can read the responses of a server on its browser's machine or
//! network. The `Host` of such a request is the name of that site.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use url::Url;

/// Whether the `Host` cannot belong to another site: an IP address, `localhost`, or the host of the base URL,
/// each with any port. A missing `Host` is accepted: every browser sends one; probes in HTTP/1.0 need not.
pub fn is_direct(headers: &HeaderMap, base_url: &Url) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let Some(host) = hosts.next() else { return true };
    if hosts.next().is_some() || host.as_bytes().contains(&b'@') {
        return false;
    }
    let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
    let name = authority.host();
    let is_address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(name) => name.parse().is_ok_and(|address: IpAddr| address.is_ipv6()),
        None => name.parse().is_ok_and(|address: IpAddr| address.is_ipv4()),
    };
    let is_own = |own: &str| name.eq_ignore_ascii_case(own);
    is_address || is_own("localhost") || base_url.host_str().is_some_and(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_direct_with(hosts: &[&str]) -> bool {
        let headers = hosts.iter().map(|host| (header::HOST, host.parse().expect("a value")));
        is_direct(&headers.collect(), &"https://kb.example".parse().expect("a URL"))
    }

    #[test]
    fn addresses_and_own_names_are_direct_and_names_of_other_pages_are_not() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:9464",
            "10.1.2.3:80",
            "[::1]",
            "[2001:db8::1]:9464",
            "localhost:1",
            "LocalHost",
            "KB.example:9464",
        ] {
            assert!(is_direct_with(&[host]), "{host}");
        }
        assert!(is_direct_with(&[]));
        for host in [
            "",
            "evil.example",
            "evil.example:9464",
            "127.0.0.1.evil.example",
            "127.0.0.1@evil.example",
            "evil.example@127.0.0.1",
            "localhost.evil.example",
            "kb.example.evil.example",
            "evil-kb.example",
            "kb.example/",
            "[127.0.0.1]",
            "::1",
            "1.2.3",
        ] {
            assert!(!is_direct_with(&[host]), "{host}");
        }
        assert!(!is_direct_with(&["127.0.0.1", "evil.example"]));
    }
}
