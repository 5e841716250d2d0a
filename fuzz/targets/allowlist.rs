//! Egress: `Allowlist`, the target of a request, and the address guard.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;
use kitbag::fuzzing::egress::{is_public, sent};
use kitbag_net::egress::Allowlist;
use url::{Host, Url};

/// Input: the lines of an `egress` list, an empty line, and the URIs of requests.
///
/// Checks that an allowed request goes to a listed host and port, also when both are read by a second parser,
/// and that all parsers agree on where it is sent. No special-purpose address is public.
pub fn allowlist(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (list, requested) = text.split_once("\n\n").unwrap_or((text, ""));
    for uri in requested.lines() {
        if let Ok(Host::Ipv4(address)) = Host::parse(uri) {
            check_address(address.into());
        }
        if let Ok(address) = uri.parse() {
            check_address(address);
        }
    }
    let Ok(allowlist) = Allowlist::parse(list.lines()) else { return };
    let listed: Vec<_> = list.lines().map(read_entry).collect();
    for uri in requested.lines().filter_map(|uri| uri.parse::<Uri>().ok()) {
        if allowlist.allows(&uri) {
            check_allowed(&uri, &listed);
        }
    }
}

fn check_allowed(uri: &Uri, listed: &[(Host, Option<u16>)]) {
    let sent_uri = sent(uri).expect("what is allowed can be sent");
    let url = Url::parse(&sent_uri.to_string()).expect("what is sent is a URL");
    assert!(matches!(url.scheme(), "http" | "https"), "{uri} goes to {url}");
    assert!(url.username().is_empty() && url.password().is_none(), "{uri} goes to {url}");

    let goes_to = url.host().map(comparable).expect("it has a host");
    let port = url.port_or_known_default().expect("it has a port");
    let default_port = if url.scheme() == "https" { 443 } else { 80 };
    let is_listed =
        |(host, listed): &(Host, Option<u16>)| *host == goes_to && listed.unwrap_or(default_port) == port;
    assert!(listed.iter().any(is_listed), "{uri} is allowed and goes to {goes_to}:{port}, not in {listed:?}");

    // The HTTP client's parser, and another one that reads the URI before it is rewritten.
    let host = sent_uri.host().expect("it has a host");
    assert_eq!(Host::parse(host).map(comparable).as_ref(), Ok(&goes_to), "{uri}");
    let given = Url::parse(&uri.to_string()).expect("what is allowed is a URL");
    assert_eq!(given.host().map(comparable), Some(goes_to), "{uri} is rewritten to {url}");
    assert_eq!(given.port_or_known_default(), Some(port), "{uri} is rewritten to {url}");
    assert_eq!(given.scheme(), url.scheme());

    assert_eq!(sent(&sent_uri).as_ref(), Some(&sent_uri), "what is sent is rewritten once more");
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    assert_eq!(sent_uri.path_and_query().map(http::uri::PathAndQuery::as_str), Some(path));
}

/// Reads a line of the list with the parser of whole URLs.
fn read_entry(line: &str) -> (Host, Option<u16>) {
    let (host, port) = match line.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port.parse().expect("a port"))),
        _ => (line, None),
    };
    let url = Url::parse(&format!("http://{host}/")).expect("an accepted line is a host");
    (url.host().map(comparable).expect("it has a host"), port)
}

/// Returns the host without the trailing dot of a fully qualified name.
fn comparable<S: AsRef<str>>(host: Host<S>) -> Host {
    match host {
        Host::Domain(name) => Host::Domain(name.as_ref().trim_end_matches('.').to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
    }
}

fn check_address(address: IpAddr) {
    if is_public(address) {
        let is_special = match address {
            IpAddr::V4(address) => is_special_v4(address),
            IpAddr::V6(address) => is_special_v6(address),
        };
        assert!(!is_special, "{address} is special, and public to the guard");
    }
}

/// Classifies addresses like the standard library, including classes that it has not stabilised yet.
fn is_special_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || address.is_unspecified()
        || first == 0
        || first >= 240
        || (first == 100 && second & 0xC0 == 64)
        || (first == 198 && second & 0xFE == 18)
}

/// An address that embeds an IPv4 address is special if that one is.
fn is_special_v6(address: Ipv6Addr) -> bool {
    let [first, second, .., high, low] = address.segments();
    let inner = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    let third = address.segments()[2];
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.to_ipv4().is_some_and(is_special_v4)
        || (first == 0x2002 && is_special_v4(inner(second, third)))
        || (first == 0x64 && second == 0xFF9B && is_special_v4(inner(high, low)))
        || (first == 0x2001 && second == 0 && is_special_v4(inner(!high, !low)))
        || (first == 0x2001 && second == 0xDB8)
}
