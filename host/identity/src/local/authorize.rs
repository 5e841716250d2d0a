//! The authorization endpoint (RFC 6749, section 3.1): asks a person, and sends the answer back.
//!
//! Invariants:
//! - a browser is sent only to an address that the client has registered. Until client and address are
//!   known, an error is a page;
//! - nobody agrees without the server's sign-in code, or a ticket made with it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kitbag_base::sha256::Digest;
use kitbag_database::DatabaseError;
use tracing::{info, warn};

use super::authorization_server::Client;
use super::code_check::CodePrompt;
use super::parameters::Parameters;
use super::person::is_user_name;
use super::pkce::Challenge;
use super::redirect_uri::RedirectUri;
use super::scopes::Scopes;
use super::sign_in_code::TicketRequest;
use super::token::Code;
use super::{AuthorizationServer, ErrorCode, OAuthError};

/// What happens to a browser that came with an authorization request, or with a person's answer.
#[derive(Debug)]
pub enum Step {
    /// A person is asked; again, where the sign-in code was not right.
    Ask(Box<Consent>),
    /// The browser goes back to the client, at this URL, with a code or an error.
    Return(String),
}

/// What a person is asked.
#[derive(Debug)]
pub struct Consent {
    /// Names the question in its answer; good once, for minutes.
    pub request_id: String,
    /// What the client calls itself; anything can call itself anything.
    pub client_name: Option<String>,
    /// The URL of the client's metadata document, if it has one: its host says who describes the client.
    pub client_document: Option<String>,
    /// Where the answer goes.
    pub redirect_uri: RedirectUri,
    /// What is asked for.
    pub scopes: Scopes,
    /// How long the client may act, unless it may renew its access.
    pub lifetime: Duration,
    /// Whether the sign-in code is asked for, and what was wrong with the one that came.
    pub code: CodePrompt,
}

/// Why a browser cannot be sent back to the client: what its person is told instead.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizeError {
    /// Registrations can be dropped, and clients keep their id.
    #[error("This application is not registered here. Remove the connection in it, and connect again.")]
    UnknownClient,
    /// The client has a metadata document, and there is none.
    #[error("This application is described at {url}, and {why}.")]
    NoDocument {
        /// Its id.
        url: String,
        /// What is wrong, in words for a person.
        why: String,
    },
    /// Whoever made the link wants the code for themselves, or made a mistake.
    #[error("The application did not register the address that it wants to be answered at.")]
    UnknownRedirectUri,
    /// Client or address is missing, or there twice.
    #[error("The link that led here is not a complete sign-in request.")]
    Malformed,
    /// It was answered before, or waited for too long.
    #[error("This sign-in has ended or was answered before. Start again in the application.")]
    NoSuchRequest,
    /// A name that cannot be shown, or too long a one.
    #[error(
        "A user name has 1 to 64 characters, and no control or invisible characters. Go back and choose another."
    )]
    UserName,
    /// For a reason of ours.
    #[error("The server could not read who asks.")]
    Storage(#[from] DatabaseError),
}

/// What a client asked for, checked.
#[derive(Clone, Debug)]
pub(super) struct Authorization {
    pub(super) client_id: String,
    pub(super) redirect_uri: RedirectUri,
    pub(super) state: Option<String>,
    pub(super) scopes: Scopes,
    pub(super) challenge: Challenge,
}

/// A request that a person is looking at.
#[derive(Debug)]
pub(super) struct Pending {
    authorization: Authorization,
    client_name: Option<String>,
    /// Stands for the sign-in code, once.
    ticket: Option<Digest>,
}

impl AuthorizationServer {
    /// Checks an authorization request, the query of its URL.
    pub async fn authorize(&self, query: &str) -> Result<Step, AuthorizeError> {
        let parameters = Parameters::parse(query);
        let (client, redirect_uri) = self.who_asks(&parameters).await?;
        match self.what_is_asked(&parameters, &client, &redirect_uri) {
            Ok(authorization) => {
                let ticket = self.recognise_ticket(&parameters, &authorization);
                let code = if ticket.is_some() { CodePrompt::Unneeded } else { CodePrompt::Asked };
                let pending = Pending { authorization, client_name: client.name, ticket };
                let mut consent = self.question(&pending, code);
                consent.request_id = lock(&self.pending).keep(pending);
                Ok(Step::Ask(Box::new(consent)))
            }
            Err(error) => {
                let state = parameters.get("state").unwrap_or_default();
                Ok(Step::Return(self.answer_with_error(&redirect_uri, state, error)))
            }
        }
    }

    /// Takes a person's answer, a form with `request_id`, `decision`, `user` and `code`. Anything but
    /// `decision=allow` is a no, and needs no code.
    pub async fn decide(&self, form: &str) -> Result<Step, AuthorizeError> {
        let parameters = Parameters::parse(form);
        let field = |name| parameters.get(name).map_err(|_repeated| AuthorizeError::Malformed);
        let request_id = field("request_id")?.ok_or(AuthorizeError::Malformed)?;
        let allowed = field("decision")? == Some("allow");
        let user = field("user")?.unwrap_or_default().trim();
        // Before the request is taken: after a slip of the keyboard the page can be sent again.
        if allowed && !is_user_name(user) {
            return Err(AuthorizeError::UserName);
        }
        let typed = field("code")?.unwrap_or_default();
        let authorization = match self.settle(request_id, allowed.then_some(typed))? {
            Ok(authorization) => authorization,
            Err(asked_again) => return Ok(Step::Ask(Box::new(asked_again))),
        };
        let (redirect_uri, state) = (authorization.redirect_uri.clone(), authorization.state.clone());
        if !allowed {
            let denied = ErrorCode::AccessDenied.because("the person did not agree");
            return Ok(Step::Return(self.answer_with_error(&redirect_uri, state.as_deref(), denied)));
        }
        info!(client.id = %authorization.client_id, user.id = user, "a client may act for a user");
        let code = self.codes.lock().await.keep(Code::new(authorization, user.to_owned()));
        Ok(Step::Return(self.answer(&redirect_uri, state.as_deref(), &[("code", &code)])))
    }

    /// Takes the request that is answered. A yes, which comes with a `typed` code, leaves it where it is and
    /// asks again unless the code is right or a ticket stands for it.
    fn settle(
        &self,
        request_id: &str,
        typed: Option<&str>,
    ) -> Result<Result<Authorization, Consent>, AuthorizeError> {
        let mut all_pending = lock(&self.pending);
        let pending = all_pending.get_mut(request_id).ok_or(AuthorizeError::NoSuchRequest)?;
        if let Some(typed) = typed {
            let mut check = lock(&self.code_check);
            let by_ticket = pending.ticket.take().is_some_and(|ticket| check.use_up(&ticket));
            if !by_ticket && let Err(prompt) = check.check(typed) {
                if prompt == CodePrompt::Wrong {
                    warn!(client.id = %pending.authorization.client_id, "a sign-in with a wrong code");
                }
                let request_id = request_id.to_owned();
                return Ok(Err(Consent { request_id, ..self.question(pending, prompt) }));
            }
        }
        let pending = all_pending.take(request_id).ok_or(AuthorizeError::NoSuchRequest)?;
        Ok(Ok(pending.authorization))
    }

    /// What the person is asked, but for the request's id.
    fn question(&self, pending: &Pending, code: CodePrompt) -> Consent {
        let authorization = &pending.authorization;
        Consent {
            request_id: String::new(),
            client_name: pending.client_name.clone(),
            client_document: self
                .documents
                .is_document(&authorization.client_id)
                .then(|| authorization.client_id.clone()),
            redirect_uri: authorization.redirect_uri.clone(),
            scopes: authorization.scopes.clone(),
            lifetime: self.lifetimes.access_token,
            code,
        }
    }

    /// The ticket in the request's parameter `ticket`, if it is good; without, the code is asked for.
    fn recognise_ticket(&self, parameters: &Parameters, authorization: &Authorization) -> Option<Digest> {
        let request = TicketRequest {
            issuer: self.issuer.issuer(),
            client_id: &authorization.client_id,
            code_challenge: parameters.get("code_challenge").ok().flatten()?,
        };
        lock(&self.code_check).recognise(parameters.get("ticket").ok().flatten(), &request)
    }

    /// The client and the address of its choice: once these are right, errors go there.
    async fn who_asks(&self, parameters: &Parameters) -> Result<(Client, RedirectUri), AuthorizeError> {
        let field = |name| parameters.get(name).ok().flatten().ok_or(AuthorizeError::Malformed);
        let (client_id, redirect_uri) = (field("client_id")?, field("redirect_uri")?);
        let client = self.client(client_id).await?;
        match RedirectUri::parse(redirect_uri) {
            Ok(uri) if client.may_be_answered_at(&uri) => Ok((client, uri)),
            _ => Err(AuthorizeError::UnknownRedirectUri),
        }
    }

    fn what_is_asked(
        &self,
        parameters: &Parameters,
        client: &Client,
        redirect_uri: &RedirectUri,
    ) -> Result<Authorization, OAuthError> {
        let invalid = |description| Err(ErrorCode::InvalidRequest.because(description));
        let state = parameters.get("state")?.map(str::to_owned);
        if parameters.require("response_type", "response_type is missing")? != "code" {
            return Err(ErrorCode::UnsupportedResponseType.because("response_type must be code"));
        }
        if parameters.get("response_mode")?.is_some_and(|mode| mode != "query") {
            return invalid("response_mode must be query");
        }
        if parameters.get("request")?.or(parameters.get("request_uri")?).is_some() {
            return invalid("request objects are not supported");
        }
        // Without a method, RFC 7636 means plain, which shows the verifier to whoever sees the link.
        if parameters.get("code_challenge_method")? != Some("S256") {
            return invalid("code_challenge_method must be S256");
        }
        let challenge = parameters.require("code_challenge", "code_challenge is missing")?;
        let Some(challenge) = Challenge::parse(challenge) else {
            return invalid("code_challenge must be 43 characters of base64url");
        };
        self.check_resource(parameters.get("resource")?)?;
        Ok(Authorization {
            client_id: client.id.clone(),
            redirect_uri: redirect_uri.clone(),
            state,
            scopes: parameters.get("scope")?.map_or_else(Scopes::all, Scopes::parse),
            challenge,
        })
    }

    fn answer_with_error(&self, to: &RedirectUri, state: Option<&str>, error: OAuthError) -> String {
        self.answer(to, state, &[("error", error.code.as_str()), ("error_description", error.description)])
    }

    /// An authorization response, with its issuer (RFC 9207).
    fn answer(&self, to: &RedirectUri, state: Option<&str>, answer: &[(&str, &str)]) -> String {
        let state = state.map(|state| ("state", state));
        let issuer = ("iss", self.issuer.issuer());
        let parameters: Vec<_> = answer.iter().copied().chain(state).chain([issuer]).collect();
        to.with(&parameters)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
