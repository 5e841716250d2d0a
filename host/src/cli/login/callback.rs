//! Where the browser comes back to: a page on loopback, for one answer (RFC 8252, section 7.3).

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
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cli::CliError;
use crate::identity::client::ExpectedResponse;

/// How long a person may take to sign in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(10);
const PATH: &str = "/callback";

/// Waits for a browser.
pub(super) struct Callback {
    listener: TcpListener,
    redirect_uri: String,
}

type Outcome = Result<String, CliError>;

impl Callback {
    /// Listens on a port that the system chooses.
    pub(super) async fn listen() -> Result<Self, CliError> {
        let failed = |error| CliError::new(format!("cannot listen on loopback for the browser: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, redirect_uri: format!("http://{address}{PATH}") })
    }

    pub(super) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Returns the code of the first answer that is `expected`; anything else is turned away, so that
    /// no other page of the browser can end the wait.
    pub(super) async fn code(self, expected: ExpectedResponse) -> Outcome {
        let gone = |_| CliError::new("nobody has signed in for ten minutes").hint("run `kitbag login` again");
        timeout(SIGN_IN_TIMEOUT, self.wait(Arc::new(expected))).await.map_err(gone)?
    }

    async fn wait(self, expected: Arc<ExpectedResponse>) -> Outcome {
        // A browser may open connections that it never uses: they are served concurrently.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(serve(stream, Arc::clone(&expected)));
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

/// Answers one request, and returns what it said once the browser has its page.
async fn serve(stream: TcpStream, expected: Arc<ExpectedResponse>) -> Option<Outcome> {
    let said = Mutex::new(None);
    let service = service_fn(async |request: Request<Incoming>| {
        let (response, outcome) = answer(&request, &expected);
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        *said = said.take().or(outcome);
        Ok::<_, Infallible>(response)
    });
    // The response counts even if the browser disconnects before it has read the page.
    let _ = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
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
