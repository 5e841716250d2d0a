//! Credentials attached to a request, and detection of ones that its sender has set.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, LOCATION};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use kitbag_manifest::{ApiKey, BasicAuth, KeyPlace};
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded::{self, byte_serialize};

use super::SignInError;
use super::token::Token;

/// Place of credentials in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Header with this name.
    Header(HeaderName),
    /// Query parameter with this name.
    Query(String),
}

/// Credentials to attach to a request.
#[derive(Clone, Debug)]
pub struct Attachment {
    what: What,
    /// The token, if the credentials are a token.
    pub(super) token: Option<Token>,
}

#[derive(Clone, Debug)]
enum What {
    Header(HeaderName, HeaderValue),
    /// Name and value of a query parameter.
    Query(String, SecretString),
}

impl Place {
    pub(super) fn authorization() -> Self {
        Self::Header(AUTHORIZATION)
    }

    /// Returns the place of an API key; `None` if it is invalid, which validation of the declaration refuses.
    pub(super) fn of_key(key: &ApiKey) -> Option<Self> {
        match key.place {
            KeyPlace::Header => HeaderName::try_from(key.name()).ok().map(Self::Header),
            KeyPlace::Query => Some(Self::Query(key.name().to_owned())),
        }
    }

    /// Returns whether the request already has this header or parameter, which is then left as it is.
    pub(super) fn is_taken<B>(&self, request: &Request<B>) -> bool {
        match self {
            Self::Header(name) => request.headers().contains_key(name),
            Self::Query(name) => {
                let query = request.uri().query().unwrap_or_default();
                form_urlencoded::parse(query.as_bytes()).any(|(taken, _)| taken == name.as_str())
            }
        }
    }
}

impl Attachment {
    pub(super) fn bearer(token: Token) -> Self {
        Self { what: What::Header(AUTHORIZATION, token.header()), token: Some(token) }
    }

    /// Creates an attachment for an API key. Fails if the value is not valid in a header.
    pub(super) fn key(key: &ApiKey, value: &SecretString) -> Result<Self, SignInError> {
        let what = match Place::of_key(key) {
            Some(Place::Header(name)) => {
                let text = format!("{}{}", key.prefix.as_deref().unwrap_or_default(), value.expose_secret());
                let is_text = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
                let header = HeaderValue::try_from(text).ok().filter(|_| is_text);
                let mut header = header
                    .ok_or_else(|| unusable(&key.secret, "has characters that a header cannot have"))?;
                header.set_sensitive(true);
                What::Header(name, header)
            }
            Some(Place::Query(name)) => What::Query(name, value.clone()),
            None => return Err(unusable(&key.secret, "has no place")),
        };
        Ok(Self { what, token: None })
    }

    /// Creates an attachment for HTTP Basic (RFC 7617). Also returns the base64 text to redact, in which
    /// neither credential can be found.
    pub(super) fn basic(
        auth: &BasicAuth,
        username: &SecretString,
        password: &SecretString,
    ) -> Result<(Self, SecretString), SignInError> {
        let username = username.expose_secret();
        let password = password.expose_secret();
        if username.contains(':') {
            return Err(unusable(&auth.username_secret, "has a colon, which separates it from the password"));
        }
        let pair = STANDARD.encode(format!("{username}:{password}"));
        let mut header = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is valid in a header");
        header.set_sensitive(true);
        Ok((Self { what: What::Header(AUTHORIZATION, header), token: None }, pair.into()))
    }

    /// Removes an attached query parameter from the target of a redirect: servers copy the query, and the
    /// guest or another host would receive it.
    pub fn take_from_redirect(&self, headers: &mut HeaderMap) {
        let What::Query(name, value) = &self.what else { return };
        let Some(location) = headers.get(LOCATION).and_then(|it| it.to_str().ok()) else { return };
        let cleaned = without_parameter(location, name, value);
        if cleaned != location {
            let cleaned = HeaderValue::try_from(cleaned).expect("it is a part of a header's value");
            headers.insert(LOCATION, cleaned);
        }
    }

    /// Attaches the credentials to one request. The original, from which later requests such as redirects are
    /// made, must not have them.
    pub fn attach<B>(&self, mut request: Request<B>) -> Request<B> {
        match &self.what {
            What::Header(name, value) => {
                request.headers_mut().insert(name, value.clone());
            }
            What::Query(name, value) => {
                if let Some(uri) = with_parameter(request.uri(), name, value) {
                    *request.uri_mut() = uri;
                }
            }
        }
        request
    }
}

fn with_parameter(uri: &Uri, name: &str, value: &SecretString) -> Option<Uri> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let parameter = format!("{}={}", encoded(name), encoded(value.expose_secret()));
    let text = match uri.query() {
        None | Some("") => format!("{}?{parameter}", uri.path()),
        Some(query) => format!("{}?{query}&{parameter}", uri.path()),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text).ok()?);
    Uri::from_parts(parts).ok()
}

/// Returns a URL reference without this query parameter.
fn without_parameter(reference: &str, name: &str, value: &SecretString) -> String {
    let (rest, fragment) = reference.split_once('#').map_or((reference, None), |(rest, it)| (rest, Some(it)));
    let Some((path, query)) = rest.split_once('?') else { return reference.to_owned() };
    let is_attached = |pair: &&str| {
        form_urlencoded::parse(pair.as_bytes())
            .any(|(key, text)| key == name && text == value.expose_secret())
    };
    let kept: Vec<_> = query.split('&').filter(|pair| !is_attached(pair)).collect();
    let mut cleaned = path.to_owned();
    if !kept.is_empty() {
        cleaned.extend(["?", &kept.join("&")]);
    }
    if let Some(fragment) = fragment {
        cleaned.extend(["#", fragment]);
    }
    cleaned
}

fn unusable(name: &str, reason: &'static str) -> SignInError {
    SignInError::UnusableCredential { name: name.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: Option<&str>, place: KeyPlace, prefix: Option<&str>) -> ApiKey {
        ApiKey {
            secret: "KEY".to_owned(),
            place,
            name: name.map(str::to_owned),
            prefix: prefix.map(str::to_owned),
            api_host: "a.example".to_owned(),
        }
    }

    fn attached(key: &ApiKey, value: &str, uri: &str) -> Request<()> {
        let request = Request::get(uri).body(()).expect("a request");
        Attachment::key(key, &value.into()).expect("it can be used").attach(request)
    }

    #[test]
    fn a_key_goes_into_the_header_with_its_prefix_or_into_the_query() {
        let header =
            |key: &ApiKey, name: &str| attached(key, "k 1", "https://a.example/").headers()[name].clone();
        assert_eq!(header(&key(None, KeyPlace::Header, Some("Bearer ")), "authorization"), "Bearer k 1");
        assert_eq!(header(&key(Some("X-Key"), KeyPlace::Header, None), "x-key"), "k 1");

        let query = key(Some("a key"), KeyPlace::Query, None);
        for (uri, expected) in [
            ("https://a.example/", "https://a.example/?a+key=k%26+1"),
            ("https://a.example/x?", "https://a.example/x?a+key=k%26+1"),
            ("https://a.example/x?q=%2B1", "https://a.example/x?q=%2B1&a+key=k%26+1"),
        ] {
            assert_eq!(attached(&query, "k& 1", uri).uri(), expected);
        }
    }

    #[test]
    fn a_redirect_does_not_take_the_key_along() {
        let attachment = Attachment::key(&key(Some("api key"), KeyPlace::Query, None), &"k&1".into())
            .expect("it can be used");
        for (location, expected) in [
            ("/x/?api+key=k%261", "/x/"),
            ("https://b.example/x?a=1&api%20key=k%261&b=2#top", "https://b.example/x?a=1&b=2#top"),
            ("/x?api+key=another", "/x?api+key=another"),
            ("/x", "/x"),
        ] {
            let mut headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(location))]);
            attachment.take_from_redirect(&mut headers);
            assert_eq!(headers[LOCATION], expected, "{location}");
        }
    }

    #[test]
    fn what_the_sender_has_put_there_is_seen_however_it_is_written() {
        let query = Place::of_key(&key(Some("api key"), KeyPlace::Query, None)).expect("a place");
        let header = Place::of_key(&key(Some("X-Key"), KeyPlace::Header, None)).expect("a place");
        let request = |uri: &str| Request::get(uri).header("x-KEY", "mine").body(()).expect("a request");

        assert!(header.is_taken(&request("https://a.example/")));
        assert!(!Place::authorization().is_taken(&request("https://a.example/")));
        for (uri, is_taken) in [
            ("https://a.example/?api+key=1", true),
            ("https://a.example/?a=1&api%20key", true),
            ("https://a.example/?%61pi+key=1", true),
            ("https://a.example/?apikey=1", false),
        ] {
            assert_eq!(query.is_taken(&request(uri)), is_taken, "{uri}");
        }
    }

    #[test]
    fn a_value_that_would_end_the_header_is_refused_without_being_told() {
        let key = key(None, KeyPlace::Header, None);
        for value in ["canary\r\nX-Evil: 1", "canary\n", "canaryé", "canary\0"] {
            let error = Attachment::key(&key, &value.into()).expect_err(value).to_string();
            assert!(error.contains("KEY") && !error.contains("canary"), "{error}");
        }
        let auth = BasicAuth { username_secret: "USER".to_owned(), ..BasicAuth::default() };
        let error =
            Attachment::basic(&auth, &"can:ary".into(), &"p".into()).expect_err("a colon").to_string();
        assert!(error.contains("USER") && !error.contains("can:"), "{error}");
    }

    #[test]
    fn nothing_attached_can_print() {
        let basic = Attachment::basic(&BasicAuth::default(), &"canary".into(), &"canary".into());
        let query = Attachment::key(&key(Some("k"), KeyPlace::Query, None), &"canary".into());
        let shown = format!("{basic:?} {query:?}");
        assert!(!shown.contains("canary") && !shown.contains(&STANDARD.encode("canary")), "{shown}");
    }
}
