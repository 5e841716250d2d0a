//! Builder for HTTP requests.

use std::fmt;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};
use kitbag_manifest::egress::CONNECTION_HEADERS;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use crate::FetchError;

/// Characters to percent-encode in a path segment: all except RFC 3986's unreserved characters.
const PATH_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request for [`Ctx::fetch`](crate::Ctx::fetch); a plain URL is a `GET`.
///
/// Errors (an invalid header, a URL without a host) are reported by `fetch`, so that calls can be
/// chained:
///
/// ```
/// # use kitbag_toolkit::Request;
/// let request = Request::get("https://books.example/v1/books")
///     .segment("Moby Dick / 2")
///     .query("lang", "en")
///     .header("accept", "application/json");
///
/// assert_eq!(request.url(), "https://books.example/v1/books/Moby%20Dick%20%2F%202?lang=en");
/// ```
#[derive(Clone)]
pub struct Request {
    method: Method,
    url: String,
    headers: HeaderMap,
    body: Vec<u8>,
    problem: Option<String>,
}

impl Request {
    /// Creates a request with the given method.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: HeaderMap::new(), body: Vec::new(), problem: None }
    }

    /// Creates a `GET` request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::GET, url)
    }

    /// Creates a `POST` request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new(Method::POST, url)
    }

    /// Creates a `PUT` request.
    pub fn put(url: impl Into<String>) -> Self {
        Self::new(Method::PUT, url)
    }

    /// Creates a `PATCH` request.
    pub fn patch(url: impl Into<String>) -> Self {
        Self::new(Method::PATCH, url)
    }

    /// Creates a `DELETE` request.
    pub fn delete(url: impl Into<String>) -> Self {
        Self::new(Method::DELETE, url)
    }

    /// Appends one segment to the URL's path, percent-encoded: a value with a slash stays one segment.
    #[must_use]
    pub fn segment(mut self, segment: impl fmt::Display) -> Self {
        let segment = segment.to_string();
        if matches!(segment.as_str(), "" | "." | "..") {
            self.problem(format!("{segment:?} cannot be a path segment"));
            return self;
        }
        let end_of_path = self.url.find(['?', '#']).unwrap_or(self.url.len());
        let separator = if self.url[..end_of_path].ends_with('/') { "" } else { "/" };
        let escaped = format!("{separator}{}", utf8_percent_encode(&segment, PATH_SEGMENT));
        self.url.insert_str(end_of_path, &escaped);
        self
    }

    /// Appends one query parameter, percent-encoded.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl fmt::Display) -> Self {
        let pair =
            form_urlencoded::Serializer::new(String::new()).append_pair(name, &value.to_string()).finish();
        let end_of_query = self.url.find('#').unwrap_or(self.url.len());
        let query = &self.url[..end_of_query];
        let separator = match query.find('?') {
            None => "?",
            Some(_) if query.ends_with(['?', '&']) => "",
            Some(_) => "&",
        };
        self.url.insert_str(end_of_query, &format!("{separator}{pair}"));
        self
    }

    /// Sets a header. Connection-level headers (`Host`, `Content-Length`, …) cannot be set.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        match (HeaderName::try_from(name), HeaderValue::try_from(value.as_ref())) {
            (Ok(name), _) if CONNECTION_HEADERS.contains(&name.as_str()) => {
                self.problem(format!("the header {name} may not be set"));
            }
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
            }
            (Err(_), _) => self.problem(format!("{name:?} is no header name")),
            (_, Err(_)) => {
                self.problem(format!("the value of header {name:?} has characters that no header may have"));
            }
        }
        self
    }

    /// Sets `Authorization: Bearer …`.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), format!("Bearer {token}"))
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body to the value as JSON, and `Content-Type: application/json` unless one is set.
    #[must_use]
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.body = body,
            Err(error) => self.problem(format!("the body is not representable as JSON: {error}")),
        }
        self.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        self
    }

    /// Returns the method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the URL, query included.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL's path, percent-encoded.
    pub fn path(&self) -> &str {
        let rest = &self.url[self.end_of_authority()..];
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        if path.is_empty() { "/" } else { path }
    }

    /// Returns the first value of a query parameter, decoded.
    pub fn query_value(&self, name: &str) -> Option<String> {
        let query = self.url.split('#').next()?.split_once('?')?.1;
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns the headers set by the handler. In a test's upstream they include those that `auth` attaches.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the body.
    pub fn body_bytes(&self) -> &[u8] {
        &self.body
    }

    /// Returns the URL's host, with the port if the URL has one.
    pub(crate) fn host(&self) -> &str {
        let authority = &self.url[self.start_of_authority()..self.end_of_authority()];
        authority.rsplit('@').next().unwrap_or(authority)
    }

    /// Returns the URL, or an error if the request cannot be sent.
    pub(crate) fn check(&self) -> Result<Uri, FetchError> {
        if let Some(problem) = &self.problem {
            return Err(FetchError::InvalidRequest(problem.clone()));
        }
        // The query may contain a credential, so the message does not quote the URL.
        let uri: Uri = self.url.parse().map_err(|error| {
            FetchError::InvalidRequest(format!(
                "the URL is not valid ({error}); build it with segment and query"
            ))
        })?;
        match uri.scheme_str() {
            Some("http" | "https") if uri.host().is_some_and(|host| !host.is_empty()) => Ok(uri),
            _ => Err(FetchError::InvalidRequest(
                "the URL must start with https:// or http:// and a host".to_owned(),
            )),
        }
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn into_parts(self) -> (Method, HeaderMap, Vec<u8>) {
        (self.method, self.headers, self.body)
    }

    fn start_of_authority(&self) -> usize {
        self.url.find("://").map_or(0, |scheme| scheme + "://".len())
    }

    fn end_of_authority(&self) -> usize {
        let start = self.start_of_authority();
        self.url[start..].find(['/', '?', '#']).map_or(self.url.len(), |length| start + length)
    }

    /// Records the first problem only: later ones often follow from it.
    fn problem(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }
}

/// Omits query, header values and body: each may contain a credential.
impl fmt::Debug for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}{}", self.method, self.host(), self.path())
    }
}

impl From<&str> for Request {
    fn from(url: &str) -> Self {
        Self::get(url)
    }
}

impl From<String> for Request {
    fn from(url: String) -> Self {
        Self::get(url)
    }
}

#[cfg(test)]
mod tests;
