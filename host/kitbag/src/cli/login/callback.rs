//! Redirect target of the sign-in: a page on loopback that accepts one authorization response (RFC 8252,
//! section 7.3).

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kitbag_identity::client::ExpectedResponse;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::cli::error::CliError;

/// Time limit for the user to sign in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(10);
/// Time limit for one connection, until the page has been sent.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit on concurrent connections; more wait in the accept queue.
const MAX_CONNECTIONS: usize = 16;
/// Pause after `accept` failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum size of the head of a request, in bytes.
const MAX_HEAD_BYTES: usize = 16 << 10;
const PATH: &str = "/callback";

/// Listener that waits for the browser's redirect.
pub(super) struct Callback {
    listener: TcpListener,
    redirect_uri: String,
    connection_timeout: Duration,
}

type Outcome = Result<String, CliError>;

impl Callback {
    /// Listens on a port chosen by the system.
    pub(super) async fn listen() -> Result<Self, CliError> {
        let failed = |error| CliError::new(format!("cannot listen on loopback for the browser: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let redirect_uri = format!("http://{address}{PATH}");
        Ok(Self { listener, redirect_uri, connection_timeout: CONNECTION_TIMEOUT })
    }

    pub(super) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Returns the code of the first response that is `expected`. Rejects all other requests, so that no
    /// other page in the browser can end the wait.
    pub(super) async fn code(self, expected: ExpectedResponse) -> Outcome {
        let gone = |_| CliError::new("nobody has signed in for ten minutes").hint("run `kitbag login` again");
        timeout(SIGN_IN_TIMEOUT, self.wait(Arc::new(expected))).await.map_err(gone)?
    }

    async fn wait(self, expected: Arc<ExpectedResponse>) -> Outcome {
        // A browser may open connections that it never uses: they are served concurrently.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    match accepted {
                        Ok((stream, _)) => {
                            connections.spawn(serve(stream, Arc::clone(&expected), self.connection_timeout));
                        }
                        // A retry without a pause would be a busy loop while the process has no free
                        // descriptors.
                        Err(_) => sleep(ACCEPT_PAUSE).await,
                    }
                }
                Some(ended) = connections.join_next() => {
                    if let Ok(Some(outcome)) = ended {
                        return outcome;
                    }
                }
            }
        }
    }
}

/// Answers one request, and returns its authorization response after sending the page.
async fn serve(stream: TcpStream, expected: Arc<ExpectedResponse>, limit: Duration) -> Option<Outcome> {
    let said = Mutex::new(None);
    let service = service_fn(async |request: Request<Incoming>| {
        let (response, outcome) = answer(&request, &expected);
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        *said = said.take().or(outcome);
        Ok::<_, Infallible>(response)
    });
    let mut protocol = http1::Builder::new();
    protocol.keep_alive(false).max_buf_size(MAX_HEAD_BYTES);
    // The response counts even if the browser disconnects or stops reading early.
    let _ = timeout(limit, protocol.serve_connection(TokioIo::new(stream), service)).await;
    said.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn answer<B>(request: &Request<B>, expected: &ExpectedResponse) -> (Response<Full<Bytes>>, Option<Outcome>) {
    if request.uri().path() != PATH || request.method() != Method::GET {
        return (page(StatusCode::NOT_FOUND, "There is nothing here."), None);
    }
    match expected.judge(request.uri().query().unwrap_or_default()) {
        None => (page(StatusCode::BAD_REQUEST, "Nobody here has asked for this sign-in."), None),
        Some(Ok(code)) => (page(StatusCode::OK, "Done: go back to the terminal."), Some(Ok(code))),
        Some(Err(error)) => {
            let outcome = Some(Err(error.into()));
            (page(StatusCode::OK, "The sign-in has failed: the terminal says why."), outcome)
        }
    }
}

fn page(status: StatusCode, message: &'static str) -> Response<Full<Bytes>> {
    let html =
        format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Kitbag</title>\n<p>{message}</p>\n");
    let mut response = Response::new(Full::from(html));
    *response.status_mut() = status;
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::CACHE_CONTROL, "no-store"),
        // The URL contains the code.
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (name, http::HeaderValue::from_static(value))));
    response
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;

    use super::*;

    /// Starts to wait for a browser; returns the address and the task.
    async fn waiting(connection_timeout: Duration) -> (SocketAddr, JoinHandle<Outcome>) {
        let callback = Callback { connection_timeout, ..Callback::listen().await.expect("a free port") };
        let address = callback.listener.local_addr().expect("an address");
        let state = "s".to_owned();
        let issuer = "https://id.example".to_owned();
        let expected = ExpectedResponse { state, issuer, names_itself: false };
        (address, tokio::spawn(callback.code(expected)))
    }

    async fn connect(address: SocketAddr, sent: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(sent.as_bytes()).await.expect("it takes bytes");
        stream
    }

    #[tokio::test]
    async fn connections_whose_head_does_not_end_are_closed_and_the_browser_is_served() {
        let (address, code) = waiting(Duration::from_millis(200)).await;
        let mut strangers = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            strangers.push(connect(address, "GET / HTTP/1.1\r\n").await);
        }

        for stranger in &mut strangers {
            let ended = timeout(Duration::from_mins(1), stranger.read_u8()).await;
            assert!(ended.is_ok(), "the connection is still open");
        }
        let mut browser = connect(address, "GET /callback?code=c&state=s HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let mut page = String::new();
        browser.read_to_string(&mut page).await.expect("a page");

        assert!(page.starts_with("HTTP/1.1 200") && page.contains("Done"), "{page}");
        assert_eq!(code.await.expect("it ends").ok().as_deref(), Some("c"));
    }

    #[tokio::test]
    async fn connections_are_bounded_and_a_long_head_is_refused() {
        let (address, code) = waiting(CONNECTION_TIMEOUT).await;
        let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(2 * MAX_HEAD_BYTES));
        let mut answer = Vec::new();
        // The connection may be reset.
        drop(connect(address, &long).await.read_to_end(&mut answer).await);
        assert!(!answer.starts_with(b"HTTP/1.1 404"), "{}", String::from_utf8_lossy(&answer));

        let mut held = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            held.push(connect(address, "").await);
        }
        let mut other = connect(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let mut status = [0; 12];
        let early = timeout(Duration::from_millis(300), other.read_exact(&mut status)).await;
        assert!(early.is_err(), "more than {MAX_CONNECTIONS} are served at a time");

        held.pop();
        other.read_exact(&mut status).await.expect("a page");
        assert_eq!(&status, b"HTTP/1.1 404");
        code.abort();
    }
}
