//! The token request of the client-credentials grant (RFC 6749, sections 2.3.1, 4.4 and 5).

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use kitbag_manifest::OAuth2ClientCredentials;
use kitbag_manifest::reply::{TokenProblem, token_error};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::token::Token;
use crate::egress::{Egress, EgressError, Policy};

/// Total time of a token request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest response that is read, in bytes.
const MAX_RESPONSE_BYTES: usize = 32 << 10;

/// Why there is no token. The text is for the toolkit's log: it contains hosts, names of credentials
/// and registered error codes, and no other external text.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignInError {
    /// The user has not set a credential.
    #[error("a credential of `auth` is not set: set it with {commands}")]
    MissingCredentials {
        /// Names of the missing ones, as declared.
        names: Vec<String>,
        /// One command for each to set it.
        commands: String,
    },
    /// The call may send no more requests.
    #[error("this call has made all the requests it may make, and needs one more for a token")]
    NoRequestLeft,
    /// The token endpoint could not be reached, or its response exceeded a limit.
    #[error("no token could be asked for: {0}")]
    Egress(#[from] EgressError),
    /// The token endpoint refused the request.
    #[error("the token endpoint {host} refused the credentials of `auth`: {status}{}", code.map(|code| format!(" {code}")).unwrap_or_default())]
    Refused {
        /// The endpoint's host.
        host: String,
        /// The response's status.
        status: StatusCode,
        /// The response's error code, if it is a registered one.
        code: Option<&'static str>,
    },
    /// The token endpoint's response has no usable token.
    #[error("the answer of the token endpoint {host} cannot be used: {reason}")]
    Unusable {
        /// The endpoint's host.
        host: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// The parameters of a token request.
#[derive(Debug)]
pub(super) struct Grant<'a> {
    pub(super) declaration: &'a OAuth2ClientCredentials,
    pub(super) client_id: &'a SecretString,
    pub(super) client_secret: &'a SecretString,
}

/// A successful response (section 5.1).
#[derive(Deserialize)]
struct TokenResponse {
    access_token: SecretString,
    /// Required by the RFC, but omitted by many servers: Bearer is assumed then.
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default)]
    expires_in: Option<Seconds>,
}

/// A number of seconds, which some servers write as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(f64),
    Text(String),
}

/// An error response (section 5.2).
#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
}

impl Grant<'_> {
    /// Requests a token, without retries.
    pub(super) async fn mint(&self, egress: &Egress, policy: &Policy) -> Result<Token, SignInError> {
        let requested_at = Instant::now();
        let response = egress.exchange(self.request()?, policy, MAX_RESPONSE_BYTES, REQUEST_TIMEOUT).await?;
        self.read(&response, requested_at)
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, SignInError> {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if let Some(scope) = self.declaration.scope.as_deref().filter(|scope| !scope.is_empty()) {
            form.append_pair("scope", scope);
        }
        let mut request = Request::new(Full::from(form.finish()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri()?;
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.basic());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        Ok(request)
    }

    /// HTTP Basic; both parts are form-urlencoded first (section 2.3.1).
    fn basic(&self) -> HeaderValue {
        let encoded =
            |secret: &SecretString| byte_serialize(secret.expose_secret().as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encoded(self.client_id), encoded(self.client_secret));
        let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)))
            .expect("base64 is valid in a header");
        value.set_sensitive(true);
        value
    }

    fn uri(&self) -> Result<Uri, SignInError> {
        let parsed = url::Url::parse(&self.declaration.token_url).ok();
        parsed
            .and_then(|url| Uri::try_from(url.as_str()).ok())
            .ok_or(SignInError::Egress(EgressError::InvalidRequest { reason: "`auth.tokenUrl` is no URL" }))
    }

    fn read(&self, response: &Response<Bytes>, requested_at: Instant) -> Result<Token, SignInError> {
        let unusable =
            |problem: TokenProblem| SignInError::Unusable { host: self.host(), reason: problem.reason() };
        let status = response.status();
        if status != StatusCode::OK {
            let error: Option<ErrorResponse> = serde_json::from_slice(response.body()).ok();
            let code = error.and_then(|it| token_error(&it.error));
            return Err(SignInError::Refused { host: self.host(), status, code });
        }
        let answer: TokenResponse =
            serde_json::from_slice(response.body()).map_err(|_| unusable(TokenProblem::NoToken))?;
        if answer.token_type.is_some_and(|it| !it.eq_ignore_ascii_case("bearer")) {
            return Err(unusable(TokenProblem::NotBearer));
        }
        let lifetime = answer.expires_in.and_then(Seconds::duration);
        Token::new(answer.access_token, requested_at, lifetime)
            .ok_or_else(|| unusable(TokenProblem::NotAHeaderValue))
    }

    fn host(&self) -> String {
        let uri = self.uri().ok();
        uri.as_ref().and_then(Uri::host).unwrap_or("of `auth.tokenUrl`").to_owned()
    }
}

impl Seconds {
    /// Returns the duration; `None` if it is not a valid number of seconds.
    fn duration(self) -> Option<Duration> {
        let seconds = match self {
            Self::Number(seconds) => seconds,
            Self::Text(text) => text.parse().ok()?,
        };
        // More seconds than a `Duration` can hold become its maximum.
        if seconds >= 1e18 { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() }
    }
}
