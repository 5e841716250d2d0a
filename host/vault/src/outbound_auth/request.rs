//! Requests to token and revocation endpoints.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body_util::Full;
use kitbag_manifest::ClientAuth;
use kitbag_net::egress::{Egress, EgressError, Policy};
use secrecy::{ExposeSecret, SecretString};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::{SignInError, answer};

/// Time limit of a whole request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// An OAuth client, with its authentication method (RFC 6749, section 2.3.1).
#[derive(Debug)]
pub(super) struct Client<'a> {
    pub(super) id: &'a SecretString,
    /// `None` for a public client.
    pub(super) secret: Option<&'a SecretString>,
    pub(super) auth: ClientAuth,
}

impl Client<'_> {
    /// Sends a form to an endpoint, without retries and without following redirects.
    pub(super) async fn post(
        &self,
        url: &str,
        form: &[(&str, &str)],
        egress: &Egress,
        policy: &Policy,
    ) -> Result<Response<Bytes>, SignInError> {
        let request = self.request(uri(url)?, form);
        Ok(egress.exchange(request, policy, answer::MAX_BYTES, REQUEST_TIMEOUT).await?)
    }

    fn request(&self, uri: Uri, form: &[(&str, &str)]) -> Request<Full<Bytes>> {
        let mut text = Serializer::new(String::new());
        text.extend_pairs(form);
        let basic = self.secret.filter(|_| self.auth == ClientAuth::Basic);
        if basic.is_none() {
            text.append_pair("client_id", self.id.expose_secret());
            if let Some(secret) = self.secret {
                text.append_pair("client_secret", secret.expose_secret());
            }
        }
        let mut request = Request::new(Full::from(text.finish()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        if let Some(secret) = basic {
            headers.insert(AUTHORIZATION, basic_header(self.id, secret));
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        request
    }
}

/// Returns the HTTP Basic header; both parts are form-urlencoded first (RFC 6749, section 2.3.1).
fn basic_header(id: &SecretString, secret: &SecretString) -> HeaderValue {
    let encoded =
        |secret: &SecretString| byte_serialize(secret.expose_secret().as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)))
        .expect("base64 is valid in a header");
    value.set_sensitive(true);
    value
}

/// Returns the host of an endpoint, for messages.
pub(super) fn host_of(url: &str) -> String {
    uri(url).ok().as_ref().and_then(Uri::host).unwrap_or("of `auth`").to_owned()
}

pub(super) fn uri(url: &str) -> Result<Uri, SignInError> {
    let parsed = Url::parse(url).ok();
    parsed
        .and_then(|url| Uri::try_from(url.as_str()).ok())
        .ok_or(SignInError::Egress(EgressError::InvalidRequest { reason: "a URL of `auth` is none" }))
}
