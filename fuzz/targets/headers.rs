//! The headers that identify the caller, the requested host and the page of origin.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use kitbag::fuzzing::identity::{BASE_URL, presented};
use kitbag::fuzzing::web::is_allowed_origin;
use url::Url;

const PAGE: &str = "https://app.example:8443";

/// Input: one header per line, `name: value`.
///
/// Checks that only requests to the server's own name are accepted, and only from its own page and the listed
/// one. A token is taken from a single header as a whole, and a cookie is not accepted from other pages.
pub fn headers(data: &[u8]) {
    let headers: HeaderMap = data.split(|byte| *byte == b'\n').filter_map(header).collect();
    check_origin(&headers);
    check_credential(&headers);
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let value = HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?;
    Some((HeaderName::from_bytes(&line[..at]).ok()?, value))
}

fn check_origin(headers: &HeaderMap) {
    let own = Url::parse(BASE_URL).expect("the base URL is one");
    if !is_allowed_origin(&own, &[PAGE.to_owned()], headers.clone()) {
        return;
    }
    let [host] = all(headers, &header::HOST)[..] else {
        panic!("let in with other than one Host: {headers:?}")
    };
    // A second parser: of the authority only, without a URL parser.
    let host = host.strip_suffix(":443").or(host.strip_suffix(':')).unwrap_or(host);
    let url = Url::parse(&format!("https://{host}/")).expect("it is the name of a host");
    assert_eq!(url.host_str(), own.host_str(), "let in as {host}");
    assert!(!host.contains(['@', '/', '?', '#', '\\']), "let in as {host}");
    match all(headers, &header::ORIGIN)[..] {
        [] | [BASE_URL | PAGE] => {}
        ref origins => panic!("let in from {origins:?}"),
    }
}

fn check_credential(headers: &HeaderMap) {
    let Some(token) = presented(headers) else { return };
    assert!(token.len() <= 16 << 10, "a token of {} bytes", token.len());
    match all(headers, &header::AUTHORIZATION)[..] {
        [value] => {
            assert!(value.len() >= 7 && value[..7].eq_ignore_ascii_case("bearer "), "{value:?} is no bearer");
            assert_eq!(value[7..].trim_matches(' '), token);
        }
        [] => {
            let cookies = headers.get_all(header::COOKIE).iter();
            let pairs = cookies.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
            let sessions: Vec<_> =
                pairs.filter_map(|pair| pair.trim_ascii_start().strip_prefix(b"__session=")).collect();
            assert_eq!(sessions.len(), 1, "a token from {sessions:?}");
            assert_eq!(sessions[0].trim_ascii_end(), token.as_bytes());
            assert!(
                matches!(all(headers, &header::ORIGIN)[..], [] | [BASE_URL]),
                "a cookie from {headers:?}"
            );
            let sites = headers.get_all("sec-fetch-site");
            assert!(!sites.iter().any(|site| site == "cross-site"), "a cookie from another site");
        }
        ref values => panic!("a token from {} headers", values.len()),
    }
}

fn all<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a str> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("not ASCII")).collect()
}
