//! An OAuth client for a person at a terminal: who signs people in for a server, and their tokens.
//!
//! Written on the one HTTP client there is. The crate `oauth2` knows neither discovery nor
//! registration nor resource indicators, which is most of what is here, and its types would have to
//! be led around our client for the rest.
//!
//! Invariant: whatever carries a code or a token goes over TLS, or stays on this machine because the
//! server itself is on it.

mod discovery;
mod tokens;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::CliError;
use crate::egress::{Egress, EgressSettings, Policy};
use crate::loopback::is_loopback;

pub(super) use self::discovery::{AuthorizationServer, discover};
pub(super) use self::tokens::{Code, ErrorResponse, Tokens, redeem, refresh, revoke};

const MAX_DOCUMENT_BYTES: usize = 512 * 1024;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Talks to authorization servers.
pub(super) struct Http(Egress);

/// A whole answer.
struct Answer {
    status: StatusCode,
    body: Bytes,
}

impl Http {
    pub(super) fn new() -> Self {
        Self(Egress::new(EgressSettings { response_timeout: REQUEST_TIMEOUT, ..EgressSettings::default() }))
    }

    /// Fetches a JSON document; nothing, if there is none at this place.
    async fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, CliError> {
        let answer = self.exchange(Method::GET, url, None).await?;
        match answer.status {
            StatusCode::OK => {
                let malformed = |error| CliError::new(format!("{url} holds something else: {error}"));
                serde_json::from_slice(&answer.body).map(Some).map_err(malformed)
            }
            status if status.is_client_error() => Ok(None),
            status => Err(CliError::new(format!("{url} answered {status}"))),
        }
    }

    async fn post_json(&self, url: &Url, body: &impl Serialize) -> Result<Answer, CliError> {
        let body = serde_json::to_vec(body).map_err(|error| CliError::new(error.to_string()))?;
        self.exchange(Method::POST, url, Some(("application/json", body))).await
    }

    async fn post_form(&self, url: &Url, parameters: &[(&str, &str)]) -> Result<Answer, CliError> {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        let body = form.extend_pairs(parameters).finish().into_bytes();
        self.exchange(Method::POST, url, Some(("application/x-www-form-urlencoded", body))).await
    }

    async fn exchange(
        &self,
        method: Method,
        url: &Url,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Answer, CliError> {
        let mut request =
            Request::builder().method(method).uri(url.as_str()).header(header::ACCEPT, "application/json");
        let body = body.map_or_else(Vec::new, |(content_type, body)| {
            if let Some(headers) = request.headers_mut() {
                headers.extend(content_type.parse().ok().map(|value| (header::CONTENT_TYPE, value)));
            }
            body
        });
        let request =
            request.body(Full::new(Bytes::from(body))).map_err(|error| CliError::new(error.to_string()))?;
        let unreachable =
            |error: &dyn std::fmt::Display| CliError::new(format!("cannot reach {url}: {error}"));
        let exchange = async {
            let sent = self.0.send(request, &Policy::Operator).await;
            let response = sent.map_err(|error| unreachable(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_DOCUMENT_BYTES).collect().await;
            Ok(Answer { status, body: body.map_err(|error| unreachable(&error))?.to_bytes() })
        };
        match tokio::time::timeout(REQUEST_TIMEOUT, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(unreachable(&"it does not answer")),
        }
    }
}

/// Refuses a server that a token could be read on the way to.
pub(super) fn expect_protected(server: &Url) -> Result<(), CliError> {
    if is_protected(server, server) {
        return Ok(());
    }
    Err(CliError::new(format!("{server} is not protected: its tokens could be read on the way"))
        .hint("use the server's https URL; plain http is for servers on this machine"))
}

/// Whether secrets may be sent to `url`, given that a person chose `server`.
pub(super) fn is_protected(url: &Url, server: &Url) -> bool {
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
    fn secrets_go_over_tls_or_stay_on_the_machine_that_the_server_is_on() {
        let is_protected = |url: &str, server: &str| {
            is_protected(&url.parse().expect("a URL"), &server.parse().expect("a URL"))
        };
        let (public, local) = ("https://kitbag.example", "http://127.0.0.1:8787");

        assert!(is_protected("https://id.example/token", public));
        assert!(is_protected("https://id.example/token", local));
        assert!(is_protected("http://localhost:9000/token", local));
        // A server elsewhere must not name what runs on this machine.
        assert!(!is_protected("http://127.0.0.1:9000/token", public));
        assert!(!is_protected("http://id.example/token", public));
        assert!(!is_protected("http://id.example/token", local));
        assert!(!is_protected("ftp://id.example/token", public));
    }
}
