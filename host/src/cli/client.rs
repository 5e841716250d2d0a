//! Talks to a running server over its public API, with the user's own token.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use kitbag_manifest::Problem;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::CliError;
use super::token::mint;
use crate::egress::{Egress, EgressError, EgressSettings, Policy};
use crate::local_mode;

/// Which server to talk to, and as whom.
#[derive(Args, Clone, Debug)]
pub(super) struct Connection {
    /// URL of the server; by default the one that last ran on the data directory.
    #[arg(long, env = "KITBAG_SERVER", global = true)]
    server: Option<Url>,
    /// Access token; by default one is signed with the key of the local server.
    #[arg(long, env = "KITBAG_TOKEN", global = true, hide_env_values = true)]
    token: Option<SecretString>,
    /// Data directory of the local server.
    #[arg(long, env = "KITBAG_DATA", global = true, default_value = "kitbag-data")]
    data: PathBuf,
}

/// A server, and the right to use it.
pub(super) struct Client {
    server: Url,
    token: SecretString,
    egress: Egress,
}

/// The body of an error (RFC 9457).
#[derive(Deserialize)]
struct ProblemDetails {
    detail: String,
    #[serde(default)]
    problems: Vec<Problem>,
}

impl Connection {
    /// The server in local mode that runs on `data`.
    pub(super) fn local(data: PathBuf) -> Self {
        Self { server: None, token: None, data }
    }

    /// Finds the server and a token.
    pub(super) fn open(self) -> Result<Client, CliError> {
        let announced = local_mode::announced(&self.data);
        let server = self.server.or_else(|| announced.clone()).ok_or_else(|| {
            CliError::new("there is no server to talk to")
                .hint("start one with `kitbag serve`, or name one with --server URL and KITBAG_TOKEN")
        })?;
        let token = match self.token {
            Some(token) => token,
            // A token of the local server is for the local server: it goes nowhere else.
            None if Some(&server) == announced.as_ref() => {
                mint(&self.data, local_mode::USER, Duration::from_mins(5))?
            }
            None => {
                return Err(CliError::new(format!("{server} is not the local server, so it needs a token"))
                    .hint("give one in KITBAG_TOKEN"));
            }
        };
        // A large component takes its time to compile before the server answers.
        let settings =
            EgressSettings { response_timeout: Duration::from_mins(10), ..EgressSettings::default() };
        Ok(Client { server, token, egress: Egress::new(settings) })
    }
}

impl Client {
    /// URL of the server.
    pub(super) fn server(&self) -> &Url {
        &self.server
    }

    /// Sends a request and reads the JSON of the answer.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<T, CliError> {
        let answer = self.exchange(method, path, content_type, body.into()).await?;
        serde_json::from_slice(&answer)
            .map_err(|error| CliError::new(format!("the server's answer cannot be read: {error}")))
    }

    /// Sends a request without a body and reads nothing of the answer.
    pub(super) async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.exchange(Method::DELETE, path, "application/json", Bytes::new()).await.map(drop)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Bytes, CliError> {
        let url = self.server.join(path).map_err(|error| CliError::new(error.to_string()))?;
        let request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token.expose_secret()))
            .header(header::CONTENT_TYPE, content_type)
            .body(Full::new(body))
            .map_err(|error| CliError::new(error.to_string()))?;
        let response =
            self.egress.send(request, &Policy::Operator).await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let broke_off = |error: hyper::Error| CliError::new(format!("the answer broke off: {error}"));
        let answer = response.into_body().collect().await.map_err(broke_off)?.to_bytes();
        if status.is_success() { Ok(answer) } else { Err(refused(status, &answer)) }
    }

    fn unreachable(&self, error: &EgressError) -> CliError {
        CliError::new(format!("cannot reach {}: {error}", self.server))
            .hint("is the server running? `kitbag serve` starts one; --server names another")
    }
}

fn refused(status: StatusCode, body: &[u8]) -> CliError {
    let Ok(details) = serde_json::from_slice::<ProblemDetails>(body) else {
        return CliError::new(format!("the server answered {status}"));
    };
    let error = CliError::listing(details.detail, &details.problems);
    match status {
        StatusCode::UNAUTHORIZED => error.hint("give a valid token in KITBAG_TOKEN"),
        _ => error,
    }
}
