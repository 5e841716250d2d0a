//! Sign-in in a test: attaches what `auth` declares, by the rules of a server.
//!
//! Invariants:
//! - only the `apiHost` of a sign-in receives what it attaches, and only over `https` or on loopback;
//! - a header or parameter that the handler set is never replaced;
//! - a token request completes without yielding, so that concurrent requests share one token.

use std::cell::RefCell;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode, header};
use kitbag_manifest::reply::{CredentialProblem, Failure, TokenProblem};
use kitbag_manifest::{Auth, Auths, KeyPlace, OAuth2ClientCredentials, egress};
use serde_json::{Map, Value};
use url::Url;

use super::platform::HostState;
use crate::{FetchError, Request, Response};

/// The sign-ins of one call.
pub(super) struct SignIns {
    toolkit: String,
    auths: Auths,
    /// Access token of the user's connected account.
    account: Option<String>,
    /// Tokens of client-credentials grants by the index of their entry.
    tokens: RefCell<HashMap<usize, String>>,
    /// First sign-in failure; becomes the reply if the call fails too.
    failure: RefCell<Option<Failure>>,
}

/// Failure to sign in.
struct SignInError {
    for_handler: FetchError,
    /// Reply to the client if the call fails; `None` if a retry may help.
    for_model: Option<Failure>,
}

/// Value to attach, and where.
enum Attachment {
    Header(String, String),
    Query(String, String),
}

impl SignIns {
    pub(super) fn new(toolkit: &str, auths: Auths, account: Option<String>) -> Self {
        Self {
            toolkit: toolkit.to_owned(),
            auths,
            account,
            tokens: RefCell::default(),
            failure: RefCell::default(),
        }
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.failure.take()
    }

    /// Returns the sign-in that applies to a request, with its index.
    fn for_request(&self, request: &Request, url: &Url) -> Option<(usize, &Auth)> {
        // TRACE echoes the request, credentials included (RFC 9110, section 9.3.8).
        let is_for_apis = ![Method::TRACE, Method::CONNECT].contains(request.method());
        let (index, auth) =
            self.auths.iter().enumerate().find(|(_, it)| egress::is_api_host(it.api_host(), url))?;
        (is_for_apis && !is_set_in(request, auth)).then_some((index, auth))
    }

    /// Records the first failure: later requests fail for the same reason.
    fn record(&self, failure: Failure) {
        self.failure.borrow_mut().get_or_insert(failure);
    }

    fn unusable(&self, name: &str, problem: CredentialProblem) -> SignInError {
        SignInError::permanent(Failure::unusable_credential(&self.toolkit, name, problem.reason()))
    }
}

impl HostState {
    /// Sends a request that `egress` allows, with the credentials of `auth`.
    pub(super) async fn send_signed(&self, request: Request, url: &Url) -> Result<Response, FetchError> {
        let Some((index, auth)) = self.sign_ins.for_request(&request, url) else {
            return self.send(request).await;
        };
        let attachment = self.attachment(index, auth).await.map_err(|error| {
            error.for_model.into_iter().for_each(|failure| self.sign_ins.record(failure));
            error.for_handler
        })?;
        let response = self.send(attachment.attach(request.clone())).await?;
        match (auth, response.status()) {
            (Auth::ClientCredentials(grant), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                match self.replaced(index, grant, &attachment).await {
                    Ok(renewed) => self.send(renewed.attach(request)).await,
                    // Without a new token, the API's response is returned.
                    Err(_) => Ok(response),
                }
            }
            (Auth::AuthorizationCode(grant), status @ StatusCode::UNAUTHORIZED) => {
                let toolkit = &self.sign_ins.toolkit;
                let refused = Failure::account_refused(toolkit, &grant.api_host, status.as_u16());
                self.sign_ins.record(refused);
                Ok(response)
            }
            _ => Ok(response),
        }
    }

    async fn attachment(&self, index: usize, auth: &Auth) -> Result<Attachment, SignInError> {
        match auth {
            Auth::ClientCredentials(grant) => {
                let cached = self.sign_ins.tokens.borrow().get(&index).cloned();
                match cached {
                    Some(token) => Ok(Attachment::bearer(&token)),
                    None => self.mint(index, grant).await,
                }
            }
            Auth::AuthorizationCode(grant) => match &self.sign_ins.account {
                Some(token) => Ok(Attachment::bearer(token)),
                None => {
                    Err(SignInError::permanent(Failure::no_account(&self.sign_ins.toolkit, &grant.api_host)))
                }
            },
            Auth::ApiKey(key) => {
                let [value] = self.values([&key.secret])?;
                let (name, prefix) = (key.name().to_owned(), key.prefix.as_deref().unwrap_or_default());
                match key.place {
                    KeyPlace::Query => Ok(Attachment::Query(name, value.to_owned())),
                    KeyPlace::Header if value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) => {
                        Ok(Attachment::Header(name, format!("{prefix}{value}")))
                    }
                    KeyPlace::Header => {
                        Err(self.sign_ins.unusable(&key.secret, CredentialProblem::NotAHeaderValue))
                    }
                }
            }
            Auth::Basic(basic) => {
                let [username, password] = self.values([&basic.username_secret, &basic.password_secret])?;
                if username.contains(':') {
                    return Err(self.sign_ins.unusable(&basic.username_secret, CredentialProblem::Colon));
                }
                Ok(Attachment::basic(username, password))
            }
        }
    }

    /// Returns a token to replace the one that the API has refused.
    async fn replaced(
        &self,
        index: usize,
        grant: &OAuth2ClientCredentials,
        refused: &Attachment,
    ) -> Result<Attachment, SignInError> {
        // Another refused request may already have requested the new token.
        let current = self.sign_ins.tokens.borrow().get(&index).map(|token| Attachment::bearer(token));
        match current {
            Some(current) if current.value() != refused.value() => Ok(current),
            _ => self.mint(index, grant).await,
        }
    }

    /// Requests a token from the test's upstream (RFC 6749, section 4.4).
    async fn mint(&self, index: usize, grant: &OAuth2ClientCredentials) -> Result<Attachment, SignInError> {
        let [id, secret] = self.values([&grant.client_id_secret, &grant.client_secret_secret])?;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        form.extend_pairs(grant.scope.iter().filter(|it| !it.is_empty()).map(|it| ("scope", it)));
        let request = Attachment::basic(&form_encoded(id), &form_encoded(secret))
            .attach(Request::post(&grant.token_url))
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.finish());

        let response = self.answer(&request).map_err(SignInError::passing)?;
        let status = response.status();
        let body = response.bytes().await.map_err(SignInError::passing)?;
        let answer: Map<String, Value> = serde_json::from_slice(&body).unwrap_or_default();
        let url = Url::parse(&grant.token_url).expect("the declaration was validated");
        let host = url.host_str().unwrap_or_default();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let why = format!("the token endpoint answered with HTTP status {}", status.as_u16());
            return Err(SignInError::passing(FetchError::Network(why)));
        }
        if status != StatusCode::OK {
            let names = [grant.client_id_secret.clone(), grant.client_secret_secret.clone()];
            let code = answer.get("error").and_then(Value::as_str).unwrap_or_default();
            let toolkit = &self.sign_ins.toolkit;
            let refused = Failure::refused_credentials(toolkit, &names, host, status.as_u16(), code);
            return Err(SignInError::permanent(refused));
        }
        let token = token_in(&answer)
            .map_err(|problem| SignInError::permanent(Failure::unusable_token(host, problem.reason())))?;
        self.sign_ins.tokens.borrow_mut().insert(index, token.to_owned());
        Ok(Attachment::bearer(token))
    }

    /// Returns the values of credentials; the error names the missing ones.
    fn values<const N: usize>(&self, names: [&String; N]) -> Result<[&str; N], SignInError> {
        let value = |name: &String| self.secrets.get(name).map(String::as_str);
        let missing: Vec<_> = names.into_iter().filter(|name| value(name).is_none()).cloned().collect();
        if missing.is_empty() {
            return Ok(names.map(|name| value(name).expect("none is missing")));
        }
        Err(SignInError::permanent(Failure::missing_credentials(&self.sign_ins.toolkit, &missing)))
    }
}

impl SignInError {
    fn permanent(failure: Failure) -> Self {
        let words = "the host could not sign in at the server";
        Self { for_handler: FetchError::Network(words.to_owned()), for_model: Some(failure) }
    }

    fn passing(error: FetchError) -> Self {
        Self { for_handler: error, for_model: None }
    }
}

impl Attachment {
    fn bearer(token: &str) -> Self {
        Self::Header(header::AUTHORIZATION.to_string(), format!("Bearer {token}"))
    }

    fn basic(username: &str, password: &str) -> Self {
        let pair = STANDARD.encode(format!("{username}:{password}"));
        Self::Header(header::AUTHORIZATION.to_string(), format!("Basic {pair}"))
    }

    fn value(&self) -> &str {
        let (Self::Header(_, value) | Self::Query(_, value)) = self;
        value
    }

    fn attach(&self, request: Request) -> Request {
        match self {
            Self::Header(name, value) => request.header(name, value),
            Self::Query(name, value) => request.query(name, value),
        }
    }
}

/// Whether the handler has already set the header or parameter that the sign-in would set.
fn is_set_in(request: &Request, auth: &Auth) -> bool {
    match auth {
        Auth::ApiKey(key) if key.place == KeyPlace::Query => request.query_value(key.name()).is_some(),
        Auth::ApiKey(key) => request.headers().contains_key(key.name()),
        _ => request.headers().contains_key(header::AUTHORIZATION),
    }
}

/// Returns the token in the successful response of a token endpoint.
fn token_in(answer: &Map<String, Value>) -> Result<&str, TokenProblem> {
    let token = answer.get("access_token").and_then(Value::as_str).ok_or(TokenProblem::NoToken)?;
    // RFC 6749, section 5.1, requires `token_type`, but many servers omit it. Only Bearer is supported.
    let is_bearer = |kind: &Value| kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !answer.get("token_type").is_none_or(is_bearer) {
        return Err(TokenProblem::NotBearer);
    }
    if is_token(token) { Ok(token) } else { Err(TokenProblem::NotAHeaderValue) }
}

/// Whether a text is valid as an access token in a header.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Encodes a client id or secret for HTTP Basic (RFC 6749, section 2.3.1).
fn form_encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
