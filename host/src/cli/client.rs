//! Talks to a running server over its public API, with the user's own token.

mod lines;

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use kitbag_manifest::Problem;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::CliError;
use super::token::mint;
use crate::egress::{Egress, EgressError, EgressSettings, Policy};
use crate::local_mode;
pub(super) use lines::Lines;

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

/// Why a request got no good answer.
pub(super) enum Failed {
    /// There was none, or the server could not give it: a later try may do better.
    Unreachable(CliError),
    /// The server refused the request.
    Refused(CliError),
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

    /// Asks for an answer that comes line by line.
    pub(super) async fn lines(&self, path: &str) -> Result<Lines, Failed> {
        let response = self.answer(Method::GET, path, "application/json", Bytes::new()).await?;
        Ok(Lines::of(response.into_body()))
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Bytes, CliError> {
        let response = self.answer(method, path, content_type, body).await?;
        Ok(read(response).await?)
    }

    /// Sends a request and returns the answer, unless the server refuses.
    async fn answer(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failed> {
        let unusable = |error: &dyn std::fmt::Display| Failed::Refused(CliError::new(error.to_string()));
        let url = self.server.join(path).map_err(|error| unusable(&error))?;
        let request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token.expose_secret()))
            .header(header::CONTENT_TYPE, content_type)
            .body(Full::new(body))
            .map_err(|error| unusable(&error))?;
        let response = self.egress.send(request, &Policy::Operator).await;
        let response = response.map_err(|error| Failed::Unreachable(self.unreachable(&error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let refusal = refused(status, &read(response).await?);
        let may_pass = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        Err(if may_pass { Failed::Unreachable(refusal) } else { Failed::Refused(refusal) })
    }

    fn unreachable(&self, error: &EgressError) -> CliError {
        CliError::new(format!("cannot reach {}: {error}", self.server))
            .hint("is the server running? `kitbag serve` starts one; --server names another")
    }
}

impl From<Failed> for CliError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unreachable(error) | Failed::Refused(error) => error,
        }
    }
}

async fn read(response: Response<Incoming>) -> Result<Bytes, Failed> {
    let broke_off = |error| Failed::Unreachable(CliError::new(format!("the answer broke off: {error}")));
    response.into_body().collect().await.map(http_body_util::Collected::to_bytes).map_err(broke_off)
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
