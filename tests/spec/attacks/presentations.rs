//! Valid tokens in invalid places or combinations of headers.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::json;

use super::APP;
use super::table::{Attack, with};
use crate::harness::{Kitbag, Signer};

/// Requests that must be refused because of the way in which they present a valid token.
pub(super) fn presentations(kitbag: &Kitbag, signer: &Signer) -> Vec<Attack> {
    let access = signer.sign(&signer.header("at+jwt"), &signer.access_claims(kitbag, "ana"));
    let session_of = |changes| {
        let claims = with(signer.session_claims(kitbag, "ana"), changes);
        signer.sign(&signer.header("JWT"), &claims)
    };
    let session = session_of(json!({}));
    let authorization = format!("Bearer {access}");
    let session_cookie = format!("__session={session}");
    let evil = "https://evil.example";
    let of_another_page = session_of(json!({ "azp": evil }));
    let lines = |lines: &[(&'static str, &str)]| {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::from_static(name), value.parse().expect("a header value"));
        }
        headers
    };

    [
        ("an access token in the cookie", cookie(&access, Some(APP)), "an access token in a cookie"),
        (
            "a cookie from another page",
            cookie(&session, Some(evil)),
            "a cookie with an Origin that is not allowed",
        ),
        (
            "a cookie from nowhere",
            cookie(&session, Some("null")),
            "a cookie with an Origin that is not allowed",
        ),
        ("a cookie without Origin", cookie(&session, None), "a cookie with neither Origin nor azp"),
        (
            "a cookie of another application",
            cookie(&of_another_page, Some(APP)),
            "an azp that is not allowed",
        ),
        (
            "a cookie in a cross-site request",
            lines(&[("cookie", &session_cookie), ("origin", APP), ("sec-fetch-site", "cross-site")]),
            "a cookie in a cross-site request",
        ),
        (
            "a cookie with two Origins",
            lines(&[("cookie", &session_cookie), ("origin", APP), ("origin", evil)]),
            "more than one Origin header",
        ),
        (
            "two session cookies",
            lines(&[("cookie", &session_cookie), ("cookie", "__session=x"), ("origin", APP)]),
            "more than one session cookie",
        ),
        (
            "two Authorization headers",
            lines(&[("authorization", &authorization), ("authorization", &authorization)]),
            "more than one Authorization header",
        ),
        (
            "a bad header beside a good cookie",
            lines(&[("authorization", "Bearer x"), ("cookie", &session_cookie), ("origin", APP)]),
            "no JWS",
        ),
        (
            "a token under another scheme",
            lines(&[("authorization", &format!("Token {access}"))]),
            "other than Bearer",
        ),
        ("a token without a scheme", lines(&[("authorization", &access)]), "without a token"),
    ]
    .map(|(name, headers, reason)| Attack { name: name.to_owned(), headers, reason })
    .into()
}

pub(super) fn bearer(token: &str) -> HeaderMap {
    let value: HeaderValue = format!("Bearer {token}").parse().expect("a header value");
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

pub(super) fn cookie(token: &str, origin: Option<&'static str>) -> HeaderMap {
    let value = format!("theme=dark; __session={token}").parse().expect("a header value");
    let mut headers = HeaderMap::from_iter([(header::COOKIE, value)]);
    headers.extend(origin.map(|origin| (header::ORIGIN, HeaderValue::from_static(origin))));
    headers
}
