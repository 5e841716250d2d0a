//! Cleans the head of every outbound request.
//!
//! Only the client sets connection-specific headers: one that the caller set could make the server
//! read another request than the one that was checked (request smuggling; RFC 9110, section 7.6.1;
//! RFC 9112, section 11.2).

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http_body::SizeHint;
use kitbag_manifest::limits;

use super::EgressError;

/// The user agent of a request that has none.
const DEFAULT_USER_AGENT: HeaderValue = HeaderValue::from_static(limits::USER_AGENT);

/// Headers that are removed from the caller's. `Host` could name another site on the checked server; the
/// client sets the right one.
const CONNECTION_HEADERS: [HeaderName; 12] = [
    CONNECTION,
    EXPECT,
    HOST,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Removes connection-specific headers, and adds a `User-Agent` if there is none.
pub(super) fn clean(headers: &mut HeaderMap) {
    for name in named_by_connection(headers).into_iter().chain(CONNECTION_HEADERS) {
        headers.remove(name);
    }
    headers.entry(USER_AGENT).or_insert(DEFAULT_USER_AGENT);
}

/// Reads the single `Content-Length`. A repeated one, or one that is not a number, is refused: two parsers
/// could disagree on the end of the request.
pub(super) fn content_length(headers: &HeaderMap) -> Result<Option<u64>, EgressError> {
    let mut declared = headers.get_all(CONTENT_LENGTH).iter();
    let Some(length) = declared.next() else { return Ok(None) };
    let digits = length.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match (digits.and_then(|digits| digits.parse().ok()), declared.next()) {
        (Some(length), None) => Ok(Some(length)),
        _ => Err(EgressError::InvalidRequest { reason: "its Content-Length is malformed or stands twice" }),
    }
}

/// Refuses a `Content-Length` that differs from the known size of the body.
pub(super) fn check_length(headers: &HeaderMap, body: &SizeHint) -> Result<(), EgressError> {
    match (content_length(headers)?, body.exact()) {
        (Some(declared), Some(actual)) if declared != actual => {
            Err(EgressError::InvalidRequest { reason: "its Content-Length is not the length of its body" })
        }
        _ => Ok(()),
    }
}

/// The size of headers on the wire, in bytes.
pub(super) fn size(headers: &HeaderMap) -> usize {
    const SEPARATOR_BYTES: usize = ": \r\n".len();

    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + SEPARATOR_BYTES).sum()
}

fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = list.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn headers_of_the_connection_and_those_it_names_do_not_leave() {
        let mut sent = headers(&[
            ("connection", "close, X-Internal"),
            ("connection", "x-second"),
            ("x-internal", "1"),
            ("x-second", "1"),
            ("expect", "100-continue"),
            ("host", "internal.example"),
            ("http2-settings", "AAMAAABkAAQAAP__"),
            ("keep-alive", "timeout=5"),
            ("proxy-authenticate", "Basic"),
            ("proxy-authorization", "Basic eDp5"),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers"),
            ("trailer", "x-late"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("authorization", "Bearer mine"),
            ("x-kept", "1"),
        ]);

        clean(&mut sent);

        sent.remove(USER_AGENT);
        assert_eq!(sent, headers(&[("authorization", "Bearer mine"), ("x-kept", "1")]));
    }

    #[test]
    fn a_user_agent_is_added_only_where_there_is_none() {
        let mut without = HeaderMap::new();
        let mut with = headers(&[("user-agent", "mine/1")]);

        clean(&mut without);
        clean(&mut with);

        let own = without[USER_AGENT].to_str().unwrap();
        assert!(own.starts_with("Mozilla/5.0 (compatible; Kitbag/"), "{own}");
        assert_eq!(with[USER_AGENT], "mine/1");
    }

    #[test]
    fn a_content_length_is_one_number_and_the_bodys_own() {
        let five = SizeHint::with_exact(5);

        for refused in [
            headers(&[("content-length", "4")]),
            headers(&[("content-length", "+5")]),
            headers(&[("content-length", "5, 5")]),
            headers(&[("content-length", "5"), ("content-length", "5")]),
            headers(&[("content-length", "99999999999999999999")]),
            headers(&[("content-length", "")]),
        ] {
            assert!(check_length(&refused, &five).is_err(), "{refused:?}");
        }
        for accepted in [headers(&[]), headers(&[("content-length", "5")])] {
            assert!(check_length(&accepted, &five).is_ok(), "{accepted:?}");
        }
        assert!(check_length(&headers(&[("content-length", "4")]), &SizeHint::default()).is_ok());
    }
}
