//! Requests of a call in a test: sends what the shared rules say to the test's upstream.

use http::{HeaderMap, Method};
use kitbag_manifest::limits::USER_AGENT;
use kitbag_manifest::test_host::exchange::{
    Attached, Exchange, Following, Head, RedirectMode, Refusal, Responded, Sending, TokenRequest,
    TokenResponse, granted,
};

use super::platform::HostState;
use crate::{FetchError, Request, Response};

impl HostState {
    /// Sends a request of the handler, and the requests that it needs.
    pub(super) async fn exchange(&self, request: &Request) -> Result<Response, FetchError> {
        let mut head = head_of(request);
        let mut body = request.body_bytes().to_vec();
        if !request.headers().contains_key(http::header::USER_AGENT) {
            head.headers.push(("user-agent".to_owned(), USER_AGENT.to_owned()));
        }
        let mut exchange = Exchange::default();
        loop {
            let attached = self.attached(&mut exchange, &head).await?;
            let token =
                attached.as_ref().and_then(|it| self.network.borrow().token(it.sign_in).map(str::to_owned));
            let response = self.send(with_attached(&head, &body, attached)).await?;
            let responded = Responded {
                status: response.status().as_u16(),
                locations: values(response.headers(), "location"),
                is_repeatable: true,
                mode: RedirectMode::Follow,
            };
            let following = exchange.responded(&self.network.borrow(), &head, &responded);
            match following {
                Following::Answer { failure } => {
                    self.note(failure);
                    return Ok(response);
                }
                Following::Renew { sign_in } => {
                    // Another refused request may already have requested the new token.
                    let is_current = self.network.borrow().token(sign_in) == token.as_deref();
                    if is_current && self.mint(sign_in).await.is_err() {
                        return Ok(response);
                    }
                }
                Following::Follow { head: next, drops_body } => {
                    head = next;
                    if drops_body {
                        body.clear();
                    }
                }
                Following::Fail { message } => return Err(FetchError::Network(message)),
            }
        }
    }

    /// Returns what to attach to a request; requests a token first where one is needed.
    async fn attached(&self, exchange: &mut Exchange, head: &Head) -> Result<Option<Attached>, FetchError> {
        loop {
            let sending = exchange.next(&self.network.borrow(), head);
            match sending {
                Sending::Send { attach } => {
                    let redacted = attach.as_ref().and_then(|it| it.redacted.clone());
                    self.network.borrow_mut().attached.extend(redacted);
                    return Ok(attach);
                }
                Sending::Token { sign_in } => self.mint(sign_in).await?,
                Sending::Fail(refusal) => return Err(self.refused(refusal)),
            }
        }
    }

    /// Requests a token. Completes without yielding, so that concurrent requests share one token.
    async fn mint(&self, sign_in: usize) -> Result<(), FetchError> {
        let TokenRequest { head, body } =
            TokenRequest::of(&self.network.borrow(), sign_in).map_err(|it| self.refused(it))?;
        let response = self.answer(&request_of(&head, body.as_bytes()))?;
        let status = response.status().as_u16();
        let media_type = values(response.headers(), "content-type").pop();
        let body = response.text().await?;
        let response = TokenResponse { status, media_type: media_type.as_deref(), body: &body };
        let token = granted(&self.network.borrow(), sign_in, &response).map_err(|it| self.refused(it))?;
        self.network.borrow_mut().set_token(sign_in, token);
        Ok(())
    }

    /// Records a refusal; returns the error for the handler.
    fn refused(&self, refusal: Refusal) -> FetchError {
        self.note(refusal.failure);
        FetchError::Network(refusal.message)
    }
}

fn head_of(request: &Request) -> Head {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = request.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    Head { method: request.method().to_string(), url: request.url().to_owned(), headers }
}

fn request_of(head: &Head, body: &[u8]) -> Request {
    let method = Method::from_bytes(head.method.as_bytes()).unwrap_or_default();
    let request = Request::new(method, &head.url).body(body);
    head.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
}

fn with_attached(head: &Head, body: &[u8], attached: Option<Attached>) -> Request {
    let Some(Attached { header, url, .. }) = attached else { return request_of(head, body) };
    let mut head = head.clone();
    head.headers.extend(header);
    head.url = url.unwrap_or(head.url);
    request_of(&head, body)
}

fn values(headers: &HeaderMap, name: &str) -> Vec<String> {
    headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}
