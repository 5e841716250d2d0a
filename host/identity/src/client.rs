//! OAuth client for `kitbag login` and the server's own pages: discovery, registration, authorization code,
//! tokens.
//!
//! Uses the process's single HTTP client. The crate `oauth2` is not used: it has neither discovery nor
//! registration nor resource indicators, which are most of this module, and does not fit our HTTP client.
//!
//! Invariant: codes and tokens are sent over TLS; plain HTTP is used only on loopback, and only if the
//! trusted server is on this machine as well.

mod authorization;
mod discovery;
mod tokens;

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use kitbag_base::loopback::is_loopback;
use kitbag_net::egress::{Egress, EgressSettings, Policy};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use url::Url;

pub use self::authorization::{AuthorizationRequest, ExpectedResponse, challenge};
pub use self::discovery::{AuthorizationServer, DEFAULT_SCOPE, Registration, discover, mcp_client_id};
pub use self::tokens::{Code, ErrorResponse, Tokens, redeem, refresh, revoke};

const MAX_DOCUMENT_BYTES: usize = 512 * 1024;
/// Maximum bytes of a text of another server that a message quotes.
const MAX_QUOTED_BYTES: usize = 200;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// HTTP client for authorization servers.
#[derive(Clone, Debug)]
pub struct Http {
    egress: Egress,
    timeout: Duration,
}

/// Failed request to a server, or unusable response.
#[derive(Clone, Debug, Error)]
#[error("{message}")]
pub struct ClientError {
    /// Description of the failure, shown to the user.
    pub message: String,
    /// Suggested remedy, shown to the user.
    pub hint: Option<String>,
}

/// Client identifier and credentials at an authorization server.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) id: String,
    pub(crate) authentication: ClientAuthentication,
}

/// Client authentication method, with the secret (RFC 6749, section 2.3.1).
#[derive(Clone, Debug)]
pub(crate) enum ClientAuthentication {
    /// Public client without a secret.
    None,
    /// Secret in the `Authorization` header (`client_secret_basic`).
    Basic(SecretString),
    /// Secret in the form parameters (`client_secret_post`).
    Post(SecretString),
}

/// Status and complete body of a response.
struct WholeResponse {
    status: StatusCode,
    body: Bytes,
}

impl Default for Http {
    /// A client with its own connection pool.
    fn default() -> Self {
        let settings = EgressSettings { response_timeout: REQUEST_TIMEOUT, ..EgressSettings::default() };
        Self { egress: Egress::new(settings), timeout: REQUEST_TIMEOUT }
    }
}

impl Http {
    /// Sends requests through `egress`, with `timeout` per request.
    pub(crate) fn through(egress: Egress, timeout: Duration) -> Self {
        Self { egress, timeout }
    }

    /// Fetches a JSON document; `None` for a 4xx status.
    async fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, ClientError> {
        let answer = self.exchange(Method::GET, url, None, None).await?;
        match answer.status {
            StatusCode::OK => {
                serde_json::from_slice(&answer.body).map(Some).map_err(|error| malformed(url, &error))
            }
            status if status.is_client_error() => Ok(None),
            status => Err(ClientError::new(format!("{url} answered {status}"))),
        }
    }

    async fn post_json(&self, url: &Url, body: &impl Serialize) -> Result<WholeResponse, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::new(error.to_string()))?;
        self.exchange(Method::POST, url, None, Some(("application/json", body))).await
    }

    /// Sends a form, authenticated as `client`.
    async fn post_form(
        &self,
        url: &Url,
        client: &Client,
        parameters: &[(&str, &str)],
    ) -> Result<WholeResponse, ClientError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .extend_pairs(client.parameters())
            .finish()
            .into_bytes();
        let content = Some(("application/x-www-form-urlencoded", body));
        self.exchange(Method::POST, url, client.header(), content).await
    }

    async fn exchange(
        &self,
        method: Method,
        url: &Url,
        authorization: Option<HeaderValue>,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<WholeResponse, ClientError> {
        let mut request =
            Request::builder().method(method).uri(url.as_str()).header(header::ACCEPT, "application/json");
        if let (Some(headers), Some(authorization)) = (request.headers_mut(), authorization) {
            headers.insert(header::AUTHORIZATION, authorization);
        }
        let body = body.map_or_else(Vec::new, |(content_type, body)| {
            if let Some(headers) = request.headers_mut() {
                headers.extend(content_type.parse().ok().map(|value| (header::CONTENT_TYPE, value)));
            }
            body
        });
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| ClientError::new(error.to_string()))?;
        let unreachable =
            |error: &dyn std::fmt::Display| ClientError::new(format!("cannot reach {url}: {error}"));
        let exchange = async {
            let sent = self.egress.send(request, &Policy::Operator).await;
            let response = sent.map_err(|error| unreachable(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_DOCUMENT_BYTES).collect().await;
            Ok(WholeResponse { status, body: body.map_err(|error| unreachable(&error))?.to_bytes() })
        };
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(unreachable(&"it does not answer")),
        }
    }
}

/// Error about a JSON document, without the values that `serde` quotes: another server has sent them.
fn malformed(source: &impl fmt::Display, error: &serde_json::Error) -> ClientError {
    let line = error.line();
    let column = error.column();
    ClientError::new(format!("{source} holds something else (line {line}, column {column})"))
}

/// Beginning of a text of another server, for a message.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_QUOTED_BYTES)]
}

impl ClientError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl Client {
    /// Public client without a secret.
    pub fn public(id: &str) -> Self {
        Self { id: id.to_owned(), authentication: ClientAuthentication::None }
    }

    fn parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let secret = match &self.authentication {
            ClientAuthentication::Post(secret) => Some(("client_secret", secret.expose_secret())),
            ClientAuthentication::None | ClientAuthentication::Basic(_) => None,
        };
        std::iter::once(("client_id", self.id.as_str())).chain(secret)
    }

    fn header(&self) -> Option<HeaderValue> {
        let ClientAuthentication::Basic(secret) = &self.authentication else { return None };
        let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let credentials = format!("{}:{}", encode(&self.id), encode(secret.expose_secret()));
        let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(credentials))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Returns an error if tokens would be sent to `server` unencrypted: http to another machine.
pub fn expect_protected(server: &Url) -> Result<(), ClientError> {
    if is_protected(server, server) {
        return Ok(());
    }
    Err(ClientError::new(format!("{server} is not protected: its tokens could be read on the way"))
        .hint("use the server's https URL; plain http is for servers on this machine"))
}

/// Whether secrets may be sent to `url`, given that the user trusts `server`.
fn is_protected(url: &Url, server: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => is_loopback(url) && is_loopback(server),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_authenticates_in_one_place() {
        let of = |authentication| Client { id: "kit bag".to_owned(), authentication };
        let secret = || SecretString::from("s:3 c");
        let shown = |client: &Client| {
            let parameters: Vec<_> =
                client.parameters().map(|(name, value)| format!("{name}={value}")).collect();
            let header = client.header().map(|value| value.to_str().expect("ASCII").to_owned());
            (parameters, header)
        };

        assert_eq!(shown(&Client::public("kit bag")), (vec!["client_id=kit bag".to_owned()], None));
        let (parameters, header) = shown(&of(ClientAuthentication::Post(secret())));
        assert_eq!((parameters.len(), parameters[1].as_str(), header), (2, "client_secret=s:3 c", None));
        let basic = of(ClientAuthentication::Basic(secret()));
        let (parameters, header) = shown(&basic);
        // RFC 6749, section 2.3.1: each half is encoded as in a form.
        let expected = format!("Basic {}", STANDARD.encode("kit+bag:s%3A3+c"));
        assert_eq!((parameters.len(), header), (1, Some(expected)));
        assert!(!format!("{basic:?}").contains("s:3 c"));
    }

    #[test]
    fn no_value_of_a_document_that_is_none_and_little_of_a_refusal_is_quoted() {
        let issuer = "https://id.example";
        let of_issuer = |document: &str| {
            AuthorizationServer::of_issuer(issuer, document.as_bytes(), "https://kit.example/mcp".into(), "")
                .expect_err("no metadata")
                .to_string()
        };
        let long = "canary".repeat(1000);

        assert_eq!(
            of_issuer(r#"{"issuer": {"canary": 1}}"#),
            "the metadata of https://id.example holds something else (line 1, column 11)"
        );
        let other = format!(
            r#"{{"issuer":"{long}","authorization_endpoint":"https://id.example/a","token_endpoint":"https://id.example/t"}}"#
        );
        let other = of_issuer(&other);
        assert!(other.contains("is about another issuer, \"canary") && other.len() < 400, "{other}");
        let body = format!(r#"{{"error":"invalid_grant","error_description":"{long}"}}"#);
        let refusal =
            ErrorResponse::of(&WholeResponse { status: StatusCode::BAD_REQUEST, body: body.into() });
        let refusal = refusal.to_string();
        assert!(refusal.starts_with("invalid_grant (canary") && refusal.len() < 300, "{refusal}");
    }

    #[test]
    fn secrets_go_over_tls_or_stay_on_the_machine_that_the_server_is_on() {
        let is_protected = |url: &str, server: &str| {
            is_protected(&url.parse().expect("a URL"), &server.parse().expect("a URL"))
        };
        let public = "https://kitbag.example";
        let local = "http://127.0.0.1:8787";

        assert!(is_protected("https://id.example/token", public));
        assert!(is_protected("https://id.example/token", local));
        assert!(is_protected("http://localhost:9000/token", local));
        // A remote server must not direct secrets to a service on this machine.
        assert!(!is_protected("http://127.0.0.1:9000/token", public));
        assert!(!is_protected("http://id.example/token", public));
        assert!(!is_protected("http://id.example/token", local));
        assert!(!is_protected("ftp://id.example/token", public));
    }
}
