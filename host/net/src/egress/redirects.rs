//! Redirects, as `fetch` follows them (Fetch Standard, "HTTP-redirect fetch").
//!
//! This computes the next request and sends nothing: the caller sends each request under the same
//! policy as the first.
//!
//! Invariants:
//! - at most twenty are followed, and none from https to http;
//! - when the origin changes, `Authorization`, `Cookie`, `Proxy-Authorization` and every header with a secret
//!   of the caller are removed.

use std::borrow::Cow;

use http::header::{
    AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHORIZATION,
};
use http::{Method, Response, StatusCode, Uri};
use kitbag_base::redaction::Redactor;
use kitbag_manifest::limits::MAX_REDIRECTS;
use url::Url;

use super::EgressError;
use super::repeatable::Repeatable;
use super::target::Target;

/// Maximum number of redirects of a file download. A URL that needs more is probably a loop.
const MAX_REDIRECTS_TO_FILE: usize = 10;

/// Redirect state of one request.
#[derive(Debug)]
pub struct Redirects {
    left: usize,
    /// Error text when the limit is exceeded.
    too_many: &'static str,
}

impl Default for Redirects {
    fn default() -> Self {
        Self { left: MAX_REDIRECTS, too_many: "there were twenty before it" }
    }
}

/// Next step after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The response is the final one.
    Answer,
    /// The request was changed to the redirect's target, and is to be sent again.
    Follow,
}

impl Redirects {
    /// Allows the redirects of a request for a file: ten at most.
    pub(super) fn for_file() -> Self {
        Self { left: MAX_REDIRECTS_TO_FILE, too_many: "there were ten before it" }
    }

    /// Applies a redirect response to `request`; other responses leave it unchanged. If the origin changes,
    /// credentials and all headers that contain one of `secrets` are removed.
    pub fn step<T>(
        &mut self,
        request: &mut Repeatable,
        response: &Response<T>,
        secrets: &Redactor,
    ) -> Result<Step, EgressError> {
        let status = response.status();
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(Step::Answer);
        }
        let here = Target::of(&request.head.uri)?;
        let refused = |reason| EgressError::Redirect { authority: here.authority(), reason };
        let Some(location) = location(response.headers()).map_err(refused)? else { return Ok(Step::Answer) };
        let uri = resolve(&here, &request.head.uri, &location).map_err(refused)?;
        let there = Target::of(&uri).map_err(|error| match error {
            EgressError::InvalidRequest { reason } => refused(reason),
            other => other,
        })?;
        if here.is_https() && !there.is_https() {
            return Err(refused("it leads from https to http"));
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| refused(self.too_many))?;

        if becomes_get(status, &request.head.method) {
            request.head.method = Method::GET;
            request.drop_body();
        }
        if there != here {
            remove_credentials(&mut request.head.headers, secrets);
        }
        request.head.uri = uri;
        Ok(Step::Follow)
    }
}

/// Removes credentials. This goes beyond `fetch`: APIs take keys in headers of many names, so every header
/// whose value contains a secret is removed too.
fn remove_credentials(headers: &mut HeaderMap, secrets: &Redactor) {
    let has_secret = |value: &str| matches!(secrets.redact(value), Cow::Owned(_));
    let with_secrets =
        headers.iter().filter(|(_, value)| has_secret(&text(value))).map(|(name, _)| name.clone());
    let names: Vec<HeaderName> = with_secrets.chain([AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION]).collect();
    for name in names {
        headers.remove(name);
    }
}

fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => method == Method::POST,
        StatusCode::SEE_OTHER => method != Method::GET && method != Method::HEAD,
        _ => false,
    }
}

/// Returns the `Location`; `None` if there is none. Differing repeated values are an error.
fn location(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let mut values = headers.get_all(LOCATION).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.any(|other| other != first) {
        return Err("it names several places");
    }
    Ok(Some(text(first)))
}

/// Decodes a header as UTF-8, or else as Latin-1.
fn text(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    std::str::from_utf8(bytes).map_or_else(|_| bytes.iter().copied().map(char::from).collect(), str::to_owned)
}

fn resolve(here: &Target, current: &Uri, location: &str) -> Result<Uri, &'static str> {
    const UNPARSABLE: &str = "its Location is no URL";

    let base = here.apply(current).map_err(|_| UNPARSABLE)?;
    let base = Url::parse(&base.to_string()).map_err(|_| UNPARSABLE)?;
    let mut url = base.join(location).map_err(|_| UNPARSABLE)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("only http and https are possible");
    }
    // Fragments are never sent.
    url.set_fragment(None);
    Uri::try_from(url.as_str()).map_err(|_| UNPARSABLE)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;

    use super::*;

    const HERE: &str = "https://api.example.com/v1/things?page=2";

    fn request(method: &str, uri: &str) -> Repeatable {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("authorization", "Bearer mine")
            .header("cookie", "a=b")
            .header("content-type", "text/plain")
            .header("content-encoding", "identity")
            .header("content-language", "en")
            .header("content-location", "/x")
            .header("content-length", "4")
            .header("x-kept", "1");
        Repeatable::new(request.body(Full::new(Bytes::from("body"))).unwrap()).unwrap()
    }

    fn redirect(status: u16, locations: &[&[u8]]) -> Response<()> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        for location in locations {
            response.headers_mut().append(LOCATION, HeaderValue::from_bytes(location).unwrap());
        }
        response
    }

    fn step(request: &mut Repeatable, status: u16, location: &str) -> Result<Step, EgressError> {
        Redirects::default().step(request, &redirect(status, &[location.as_bytes()]), &Redactor::default())
    }

    #[track_caller]
    fn check(location: &str, expected: &str) {
        let mut request = request("GET", HERE);
        let step = step(&mut request, 302, location);
        assert_eq!(step.unwrap(), Step::Follow, "{location}");
        assert_eq!(request.head.uri, expected.parse::<Uri>().unwrap(), "{location}");
    }

    #[test]
    fn a_location_is_read_as_a_browser_reads_it() {
        check("other", "https://api.example.com/v1/other");
        check("/other?x=1", "https://api.example.com/other?x=1");
        check("?page=3", "https://api.example.com/v1/things?page=3");
        check("../../..", "https://api.example.com/");
        check("", HERE);
        check("#part", HERE);
        check("https://api.example.com/a#part", "https://api.example.com/a");
        check("//cdn.example.com/a", "https://cdn.example.com/a");
        check("https://CDN.example.com:443/a b", "https://cdn.example.com/a%20b");
        check("\\\\cdn.example.com\\a", "https://cdn.example.com/a");
        check("/ü", "https://api.example.com/%C3%BC");
        check("https://127.1/", "https://127.0.0.1/");
    }

    #[test]
    fn a_location_in_latin_1_is_read_too() {
        let mut request = request("GET", HERE);

        Redirects::default().step(&mut request, &redirect(301, &[b"/\xfc"]), &Redactor::default()).unwrap();

        assert_eq!(request.head.uri.path(), "/%C3%BC");
    }

    #[test]
    fn a_redirect_without_a_place_is_an_answer() {
        for response in
            [redirect(302, &[]), redirect(300, &[b"/"]), redirect(304, &[b"/"]), redirect(200, &[b"/"])]
        {
            let mut request = request("POST", HERE);

            let step = Redirects::default().step(&mut request, &response, &Redactor::default());

            assert_eq!(step.unwrap(), Step::Answer);
            assert_eq!((request.head.method.as_str(), request.head.uri), ("POST", HERE.parse().unwrap()));
        }
    }

    #[test]
    fn a_place_that_cannot_be_gone_to_is_an_error() {
        for location in [
            "ftp://api.example.com/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/plain,x",
            "https://",
            "https://user:pass@api.example.com/",
            "https://api.example.com@evil.example/",
            "https://api.example.com:0/",
            "https://api.example.com:65536/",
            "https://a..example.com/",
            "https://exa mple.com/",
        ] {
            let error = step(&mut request("GET", HERE), 302, location).unwrap_err();

            assert!(matches!(error, EgressError::Redirect { .. }), "{location}: {error}");
            assert!(error.to_string().contains("api.example.com"), "{error}");
        }
        let follow = |locations: &[&[u8]]| {
            let response = redirect(302, locations);
            Redirects::default().step(&mut request("GET", HERE), &response, &Redactor::default())
        };
        assert!(follow(&[b"/a", b"/b"]).is_err());
        assert_eq!(follow(&[b"/a", b"/a"]).unwrap(), Step::Follow);
    }

    #[tokio::test]
    async fn a_method_is_kept_or_becomes_get_by_the_status() {
        for (status, method, expected) in [
            (301, "POST", "GET"),
            (302, "POST", "GET"),
            (303, "POST", "GET"),
            (303, "PUT", "GET"),
            (303, "DELETE", "GET"),
            (303, "HEAD", "HEAD"),
            (301, "PUT", "PUT"),
            (302, "PATCH", "PATCH"),
            (302, "HEAD", "HEAD"),
            (307, "POST", "POST"),
            (308, "PUT", "PUT"),
        ] {
            let mut request = request(method, HERE);

            step(&mut request, status, "/next").unwrap();

            let headers = &request.head.headers;
            assert_eq!(request.head.method, expected, "{status} {method}");
            assert!(headers.contains_key(AUTHORIZATION) && headers.contains_key("x-kept"));
            let described = headers.keys().filter(|name| name.as_str().starts_with("content-")).count();
            assert_eq!(described, if method == expected { 5 } else { 0 }, "{status} {method}");
            let body =
                http_body_util::BodyExt::collect(request.next().await.unwrap().into_body()).await.unwrap();
            assert_eq!(body.to_bytes(), if method == expected { "body" } else { "" }, "{status} {method}");
        }
    }

    #[test]
    fn credentials_stay_with_their_origin() {
        for (location, kept) in [
            ("/next", true),
            ("https://API.example.com.:443/next", true),
            ("https://api.example.com:8443/next", false),
            ("https://other.example.com/next", false),
        ] {
            let mut request = request("GET", HERE);
            request.head.headers.insert(PROXY_AUTHORIZATION, HeaderValue::from_static("Basic eDp5"));

            step(&mut request, 307, location).unwrap();

            for name in ["authorization", "cookie", "proxy-authorization"] {
                assert_eq!(request.head.headers.contains_key(name), kept, "{name} to {location}");
            }
            assert!(request.head.headers.contains_key("x-kept"));
        }
    }

    #[test]
    fn a_header_with_a_secret_stays_with_its_origin_whatever_its_name() {
        let secrets = Redactor::new(&["s3cr3t-välue".into()]);
        let latin_1 = HeaderValue::from_bytes(b"s3cr3t-v\xe4lue").unwrap();
        let in_base64 = HeaderValue::from_static("Basic YW5hOnMzY3IzdC12w6RsdWU=");
        let plain = HeaderValue::from_bytes("key=s3cr3t-välue".as_bytes()).unwrap();

        for (location, kept) in [("/next", true), ("https://other.example.com/next", false)] {
            let mut request = request("GET", HERE);
            for (name, value) in [("x-api-key", &plain), ("x-old", &latin_1), ("x-basic", &in_base64)] {
                request.head.headers.insert(name, value.clone());
            }
            request.head.headers.append("x-api-key", HeaderValue::from_static("another"));

            Redirects::default()
                .step(&mut request, &redirect(307, &[location.as_bytes()]), &secrets)
                .unwrap();

            for name in ["x-api-key", "x-old", "x-basic"] {
                assert_eq!(request.head.headers.contains_key(name), kept, "{name} to {location}");
            }
            assert!(request.head.headers.contains_key("x-kept"));
        }
    }

    #[test]
    fn a_redirect_does_not_leave_tls() {
        for location in ["http://api.example.com/", "http://other.example.com/", "http://localhost/"] {
            let error = step(&mut request("GET", HERE), 307, location).unwrap_err();

            assert!(error.to_string().ends_with("it leads from https to http"), "{error}");
        }
        assert!(step(&mut request("GET", "http://api.example.com/"), 307, HERE).is_ok());
    }

    #[test]
    fn the_twenty_first_redirect_is_an_error() {
        let mut redirects = Redirects::default();
        let mut request = request("GET", HERE);
        let mut step = |response| redirects.step(&mut request, &response, &Redactor::default());

        for _ in 0..MAX_REDIRECTS {
            assert_eq!(step(redirect(302, &[b"/again"])).unwrap(), Step::Follow);
        }

        assert!(step(redirect(302, &[b"/again"])).is_err());
        assert_eq!(step(redirect(200, &[])).unwrap(), Step::Answer);
    }
}
