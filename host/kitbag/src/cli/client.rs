//! Talks to a running server over its public API, with the user's own token.

mod graphql;
mod lines;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use kitbag_base::base_url::below;
use kitbag_base::local_mode::{self, Unusable};
use kitbag_identity::client::expect_protected;
use kitbag_manifest::Problem;
use kitbag_net::egress::{Egress, EgressError, EgressSettings, Policy, ResponseBody};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;
use url::Url;

use super::error::{CliError, Exit};
use super::session::{SessionFile, SignedIn, sign_in_again};
use super::terminal::note;
use super::token::mint;
pub(super) use graphql::{GraphqlError, GraphqlFailure};
pub(super) use lines::Lines;

/// Lifetime of tokens that are signed with the key of the local server.
const LOCAL_TOKEN_LIFETIME: Duration = Duration::from_mins(5);

/// Longest pause, and number of attempts, for requests that the server's rate limit rejects.
const MAX_PAUSE: Duration = Duration::from_mins(1);
const MAX_TRIES: usize = 10;

/// Which server to talk to, and as whom.
#[derive(Args, Clone, Debug)]
pub(super) struct Connection {
    /// URL of the server; by default the one of `kitbag login`, or else the local one that last ran here.
    #[arg(long, env = "KITBAG_SERVER", global = true)]
    server: Option<Url>,
    /// Access token; by default that of `kitbag login`, or one signed with the key of the local server.
    #[arg(long, env = "KITBAG_TOKEN", global = true, hide_env_values = true)]
    token: Option<SecretString>,
    /// Data directory of a local server: the commands then talk to that one; by default kitbag-data.
    #[arg(long, env = "KITBAG_DATA", global = true)]
    data: Option<PathBuf>,
}

/// Client of a server, with an access token.
pub(super) struct Client {
    server: Url,
    /// The newest token.
    token: Mutex<SecretString>,
    origin: Origin,
    egress: Egress,
}

/// Origin of the token, from which an expired one is renewed.
enum Origin {
    /// The user gave it; it cannot be renewed.
    Given,
    Session(SignedIn),
    /// The key of the local server in this data directory.
    LocalKey(PathBuf),
}

/// Reasons why a request failed.
pub(super) enum Failed {
    /// No response, or a temporary failure of the server.
    Unreachable(CliError),
    /// The server refused the request.
    Refused(CliError),
}

/// Problem details of an error response (RFC 9457).
#[derive(Deserialize)]
struct ProblemDetails {
    detail: String,
    #[serde(default)]
    problems: Vec<Problem>,
}

impl Connection {
    /// Connection to the server in local mode that runs on `data`.
    pub(super) fn local(data: PathBuf) -> Self {
        Self { server: None, token: None, data: Some(data) }
    }

    /// Connection of a user to the server in local mode that runs on `data`.
    pub(super) fn local_as(data: PathBuf, user: &str) -> Result<Self, CliError> {
        let token = mint(&data, user, LOCAL_TOKEN_LIFETIME)?;
        Ok(Self { server: None, token: Some(token), data: Some(data) })
    }

    /// Determines the server and the token.
    pub(super) async fn open(self) -> Result<Client, CliError> {
        let server = which_server(self.server, self.data.as_deref())?;
        expect_protected(&server)?;
        let data = self.data.as_deref().unwrap_or(Path::new(local_mode::DEFAULT_DATA));
        let session = if self.token.is_none() { SignedIn::at(&server)? } else { None };
        let (token, origin) = match (self.token, session) {
            (Some(token), _) => (token, Origin::Given),
            (None, Some(session)) => (session.token().await?, Origin::Session(session)),
            // The local server's key signs tokens for that server only.
            (None, None) if local_mode::announced(data).ok().flatten().as_ref() == Some(&server) => {
                (mint(data, local_mode::USER, LOCAL_TOKEN_LIFETIME)?, Origin::LocalKey(data.to_owned()))
            }
            (None, None) => {
                return Err(CliError::new(format!("you are not signed in at {server}"))
                    .exit(Exit::SignedOut)
                    .hint(format!("{}, or give a token in KITBAG_TOKEN", sign_in_again(&server))));
            }
        };
        // The response to a deploy comes after compilation, which is slow for a large component.
        let settings =
            EgressSettings { response_timeout: Duration::from_mins(10), ..EgressSettings::default() };
        Ok(Client { server, token: Mutex::new(token), origin, egress: Egress::new(settings) })
    }
}

impl Client {
    /// URL of the server.
    pub(super) fn server(&self) -> &Url {
        &self.server
    }

    /// Sends a request and parses the JSON of the response.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<T, CliError> {
        Ok(self.try_send(method, path, content_type, body).await?)
    }

    /// Like [`send`](Self::send), for callers that handle a rejected request.
    pub(super) async fn try_send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<T, Failed> {
        let answer = self.exchange(method, path, content_type, body.into()).await?;
        serde_json::from_slice(&answer).map_err(|error| {
            Failed::Refused(CliError::new(format!("the server's answer cannot be read: {error}")))
        })
    }

    /// Sends a request without a body, and discards the response.
    pub(super) async fn delete(&self, path: &str) -> Result<(), CliError> {
        Ok(self.exchange(Method::DELETE, path, "application/json", Bytes::new()).await.map(drop)?)
    }

    /// Sends a request without a body, and expects a response without one.
    pub(super) async fn post(&self, path: &str) -> Result<(), CliError> {
        Ok(self.exchange(Method::POST, path, "application/json", Bytes::new()).await.map(drop)?)
    }

    /// Sends JSON, and expects a response without a body.
    pub(super) async fn post_json(&self, path: &str, json: String) -> Result<(), CliError> {
        Ok(self.exchange(Method::POST, path, "application/json", json.into()).await.map(drop)?)
    }

    /// Sends a GET request whose response is read line by line.
    pub(super) async fn lines(&self, path: &str) -> Result<Lines, Failed> {
        let response = self.answer(Method::GET, path, "application/json", Bytes::new()).await?;
        Ok(Lines::of(response.into_body()))
    }

    /// Sends a GET request whose response body is streamed.
    pub(super) async fn download(&self, path: &str) -> Result<Response<ResponseBody>, CliError> {
        Ok(self.answer(Method::GET, path, "application/json", Bytes::new()).await?)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Bytes, Failed> {
        read(self.answer(method, path, content_type, body).await?).await
    }

    /// Sends a request and returns the response; an error status is an error. Renews an expired token, unless
    /// the user gave it.
    async fn answer(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Response<ResponseBody>, Failed> {
        let mut token = self.token().clone();
        let send = async |token: &SecretString| {
            self.answer_as(token, method.clone(), path, content_type, body.clone()).await
        };
        let mut response = send(&token).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(renewed) = self.renewed(&token).await.map_err(Failed::Refused)?
        {
            self.token().clone_from(&renewed);
            token = renewed;
            response = send(&token).await?;
        }
        for _ in 0..MAX_TRIES {
            let Some(pause) = wanted_pause(&response) else { break };
            sleep(pause).await;
            response = send(&token).await?;
        }
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let refusal = self.refused(status, &read(response).await?);
        let may_pass = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        Err(if may_pass {
            Failed::Unreachable(refusal.exit(Exit::Unavailable))
        } else {
            Failed::Refused(refusal)
        })
    }

    fn token(&self) -> MutexGuard<'_, SecretString> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a token to use after the server refused `token`; `None` if it cannot be renewed.
    async fn renewed(&self, token: &SecretString) -> Result<Option<SecretString>, CliError> {
        match &self.origin {
            Origin::Given => Ok(None),
            Origin::Session(session) => session.token_after(token).await.map(Some),
            Origin::LocalKey(data) => mint(data, local_mode::USER, LOCAL_TOKEN_LIFETIME).map(Some),
        }
    }

    async fn answer_as(
        &self,
        token: &SecretString,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Response<ResponseBody>, Failed> {
        let unusable = |error: &dyn std::fmt::Display| Failed::Refused(CliError::new(error.to_string()));
        let request = Request::builder()
            .method(method)
            .uri(below(&self.server, path))
            .header(header::AUTHORIZATION, format!("Bearer {}", token.expose_secret()))
            .header(header::CONTENT_TYPE, content_type)
            .body(Full::new(body))
            .map_err(|error| unusable(&error))?;
        let response = self.egress.send(request, &Policy::Operator).await;
        response.map_err(|error| Failed::Unreachable(self.unreachable(&error)))
    }

    fn unreachable(&self, error: &EgressError) -> CliError {
        let hint = match error {
            EgressError::Tls { .. } => {
                "is its certificate valid, for this name, and from an authority that this machine trusts? SSL_CERT_FILE \
                 names a file with other authorities"
            }
            _ => "is the server running? `kitbag serve` starts one; --server names another",
        };
        CliError::new(format!("cannot reach {}: {error}", self.server)).exit(Exit::Unavailable).hint(hint)
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> CliError {
        let error = match serde_json::from_slice::<ProblemDetails>(body) {
            Ok(details) => CliError::listing(details.detail, &details.problems),
            Err(_) => CliError::new(format!("the server answered {status}")),
        };
        match status {
            StatusCode::UNAUTHORIZED => error
                .exit(Exit::SignedOut)
                .hint(format!("{}, or give a valid token in KITBAG_TOKEN", sign_in_again(&self.server))),
            _ => error,
        }
    }
}

impl From<Failed> for CliError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unreachable(error) | Failed::Refused(error) => error,
        }
    }
}

/// Pause requested by the server with 429 and `Retry-After` (RFC 6585, section 4); `None` if it is too long
/// or absent.
fn wanted_pause(response: &Response<ResponseBody>) -> Option<Duration> {
    if response.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds)).filter(|pause| *pause <= MAX_PAUSE)
}

async fn read(response: Response<ResponseBody>) -> Result<Bytes, Failed> {
    let broke_off = |error| {
        let error = CliError::new(format!("the answer broke off: {error}"));
        Failed::Unreachable(error.exit(Exit::Unavailable))
    };
    response.into_body().collect().await.map(http_body_util::Collected::to_bytes).map_err(broke_off)
}

/// Selects the server: the one named by URL or by data directory; else the only one with a session; else,
/// without any session, the one that runs on the default data directory.
///
/// The default data directory comes last, because the current folder may belong to another user.
pub(super) fn which_server(named: Option<Url>, data: Option<&Path>) -> Result<Url, CliError> {
    if let Some(server) = named {
        return Ok(server);
    }
    if let Some(data) = data {
        return local_mode::announced(data).map_err(unusable)?.ok_or_else(|| no_server_on(data));
    }
    let sessions = SessionFile::of_this_user().map(|file| file.read()).transpose()?.unwrap_or_default();
    match sessions.servers().as_slice() {
        [server] => Ok(server.clone()),
        [] => match local_mode::announced(Path::new(local_mode::DEFAULT_DATA)) {
            Ok(Some(server)) => Ok(server),
            Ok(None) => Err(no_server()),
            Err(distrusted) => {
                let CliError { message, hint, .. } = unusable(distrusted);
                note!(
                    "warning: the local server here is ignored: {} ({})",
                    message,
                    hint.unwrap_or_default()
                );
                Err(no_server())
            }
        },
        several => {
            let list: Vec<_> = several.iter().map(Url::as_str).collect();
            Err(CliError::new("you are signed in at several servers")
                .hint(format!("name one with --server: {}", list.join(", "))))
        }
    }
}

fn no_server_on(data: &Path) -> CliError {
    CliError::new(format!("there is no server to talk to: none in local mode has run on {}", data.display()))
        .hint("start one with `kitbag serve`, or leave --data (KITBAG_DATA) out")
}

fn no_server() -> CliError {
    CliError::new("there is no server to talk to")
        .hint("start one with `kitbag serve`, or sign in at one with `kitbag login --server URL`")
}

/// Error for a data directory whose announced server must not be used.
pub(super) fn unusable(why: Unusable) -> CliError {
    let error = CliError::new(why.to_string());
    match why {
        Unusable::Distrusted(distrust) => match distrust.remedy() {
            Some(remedy) => error.hint(format!("if you made it, run: {remedy}")),
            None => error.hint("name the server with --server"),
        },
        Unusable::Elsewhere(_) => error.hint("name the server with --server, if you trust it"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use serde_json::Value;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers requests, and refuses those with the token of the first one. Collects the tokens.
    async fn refuse_the_first_token(listener: TcpListener, tokens: Arc<Mutex<Vec<String>>>) {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(connection.read_u8().await.expect("a request"));
            }
            let head = String::from_utf8(head).expect("text");
            let token =
                head.lines().find_map(|line| line.split_once("Bearer ")).expect("a token").1.to_owned();
            let is_refused = {
                let mut tokens = tokens.lock().expect("no writer panicked");
                tokens.push(token);
                tokens.last() == tokens.first()
            };
            let status = if is_refused { "401 Unauthorized" } else { "200 OK" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            connection.write_all(answer.as_bytes()).await.expect("a client");
        }
    }

    #[tokio::test]
    async fn an_expired_token_of_the_local_server_is_renewed_once() {
        let private = Permissions::from_mode(0o700);
        let data = tempfile::Builder::new().permissions(private).tempdir().expect("a scratch directory");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server: Url =
            format!("http://{}", listener.local_addr().expect("an address")).parse().expect("a URL");
        local_mode::announce(data.path(), &server).expect("the directory is ours");
        let tokens = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(refuse_the_first_token(listener, tokens.clone()));
        let client = Connection::local(data.path().to_owned()).open().await.expect("a local server");

        for _ in 0..2 {
            let answer: Value =
                client.send(Method::GET, "/me", "application/json", "").await.expect("an answer");
            assert_eq!(answer, Value::Object(serde_json::Map::new()));
        }

        let tokens = tokens.lock().expect("no writer panicked").clone();
        assert_eq!(tokens.len(), 3, "the second request has the new token");
        assert!(tokens[0] != tokens[1] && tokens[1] == tokens[2]);
    }
}
