//! Where the browser comes back to: a page on loopback, for one answer (RFC 8252, section 7.3).

use std::collections::HashMap;
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
use url::form_urlencoded;

use crate::cli::CliError;

/// How long a person may take to sign in.
const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(10);
const PATH: &str = "/callback";

/// Waits for a browser.
pub(super) struct Callback {
    listener: TcpListener,
    redirect_uri: String,
}

/// How the right answer is known.
pub(super) struct Expected {
    pub(super) state: String,
    pub(super) issuer: String,
    /// Whether an answer without `iss` is a wrong one (RFC 9207, section 2.4).
    pub(super) names_itself: bool,
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
    pub(super) async fn code(self, expected: Expected) -> Outcome {
        let gone = |_| CliError::new("nobody has signed in for ten minutes").hint("run `kitbag login` again");
        timeout(SIGN_IN_TIMEOUT, self.wait(Arc::new(expected))).await.map_err(gone)?
    }

    async fn wait(self, expected: Arc<Expected>) -> Outcome {
        // A browser may open connections that it never uses: none waits for another.
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
async fn serve(stream: TcpStream, expected: Arc<Expected>) -> Option<Outcome> {
    let said = Mutex::new(None);
    let service = service_fn(async |request: Request<Incoming>| {
        let (response, outcome) = answer(&request, &expected);
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        *said = said.take().or(outcome);
        Ok::<_, Infallible>(response)
    });
    // A browser that goes away before it has read its page has answered all the same.
    let _ = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service).await;
    said.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn answer<B>(request: &Request<B>, expected: &Expected) -> (Response<Full<Bytes>>, Option<Outcome>) {
    if request.uri().path() != PATH || request.method() != Method::GET {
        return (page(StatusCode::NOT_FOUND, "There is nothing here."), None);
    }
    match expected.judge(request.uri().query().unwrap_or_default()) {
        None => (page(StatusCode::BAD_REQUEST, "Nobody here has asked for this sign-in."), None),
        Some(Ok(code)) => (page(StatusCode::OK, "Done: go back to the terminal."), Some(Ok(code))),
        Some(Err(error)) => {
            (page(StatusCode::OK, "The sign-in has failed: the terminal says why."), Some(Err(error)))
        }
    }
}

impl Expected {
    /// What the answer says; nothing, if it is none to our question.
    fn judge(&self, query: &str) -> Option<Outcome> {
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()).into_owned() {
            if parameters.insert(name, value).is_some() {
                return None;
            }
        }
        if parameters.get("state") != Some(&self.state) {
            return None;
        }
        let named = parameters.get("iss");
        let by_another =
            named.is_some_and(|named| *named != self.issuer) || (named.is_none() && self.names_itself);
        if by_another {
            return Some(Err(CliError::new(format!("the answer is not from {}", self.issuer))
                .hint("nothing was sent to anybody; run `kitbag login` again")));
        }
        Some(match (parameters.remove("code"), parameters.get("error")) {
            (Some(code), None) => Ok(code),
            (_, Some(error)) => {
                let description = parameters.get("error_description").unwrap_or(error);
                Err(CliError::new(format!(
                    "{} did not sign you in: {}",
                    self.issuer,
                    description.escape_debug()
                )))
            }
            (None, None) => Err(CliError::new(format!("{} sent neither a code nor an error", self.issuer))),
        })
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
        // The address holds the code.
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    response.headers_mut().extend(headers.map(|(name, value)| (name, http::HeaderValue::from_static(value))));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(names_itself: bool) -> Expected {
        Expected { state: "s1".to_owned(), issuer: "https://id.example".to_owned(), names_itself }
    }

    #[test]
    fn only_the_answer_to_the_own_question_counts() {
        let expected = expected(true);

        for query in ["", "code=c", "code=c&state=s2&iss=https://id.example", "state=s1&state=s1&code=c"] {
            assert!(expected.judge(query).is_none(), "{query}");
        }
        let code = expected.judge("code=c&state=s1&iss=https://id.example").unwrap().unwrap();
        assert_eq!(code, "c");
    }

    #[test]
    fn an_answer_from_another_issuer_is_no_code() {
        for (names_itself, query, good) in [
            (true, "code=c&state=s1", false),
            (true, "code=c&state=s1&iss=https://evil.example", false),
            (false, "code=c&state=s1&iss=https://evil.example", false),
            (false, "code=c&state=s1", true),
        ] {
            let judged = expected(names_itself).judge(query).unwrap();
            assert_eq!(judged.is_ok(), good, "{query}");
        }
    }

    #[test]
    fn a_refusal_is_told_and_cannot_command_the_terminal() {
        let judged =
            expected(false).judge("state=s1&error=access_denied&error_description=no%1b[2J").unwrap();

        assert_eq!(judged.unwrap_err().to_string(), "https://id.example did not sign you in: no\\u{1b}[2J");
    }
}
