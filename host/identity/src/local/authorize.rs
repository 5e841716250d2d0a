//! Authorization endpoint (RFC 6749, section 3.1): asks a person for consent, and redirects to the client.
//!
//! Invariants:
//! - a browser is redirected only to a registered redirect URI. Until client and redirect URI are checked,
//!   errors are shown as a page;
//! - consent requires the server's sign-in code, or a ticket made with it.

use std::time::Duration;

use kitbag_base::sha256::Digest;
use kitbag_database::DatabaseError;
use tracing::{info, warn};

use super::authorization::{Authorization, Code, Pending};
use super::authorization_server::AuthorizationServer;
use super::client::{Client, ClientSource};
use super::code_check::CodePrompt;
use super::metadata_document::needs_no_document;
use super::oauth_error::{ErrorCode, OAuthError};
use super::parameters::Parameters;
use super::person::is_user_name;
use super::pkce::Challenge;
use super::redirect_uri::RedirectUri;
use super::scopes::Scopes;
use super::sign_in_code::TicketRequest;

/// Response to an authorization request, or to a submitted consent form.
#[derive(Debug)]
pub enum Step {
    /// Show the consent page; again, if the sign-in code was wrong.
    Ask(Box<Consent>),
    /// Redirect to the client at this URL, which contains a code or an error.
    Return(String),
}

/// Contents of the consent page.
#[derive(Debug)]
pub struct Consent {
    /// Id of the request in the submitted form; single-use, valid for minutes.
    pub request_id: String,
    /// Client id: issued at registration, or the URL of a metadata document.
    pub client_id: String,
    /// Name that the client claims; not verified.
    pub client_name: Option<String>,
    /// Source of what is known about the client.
    pub client_source: ClientSource,
    /// Redirect URI of the response.
    pub redirect_uri: RedirectUri,
    /// Requested scopes.
    pub scopes: Scopes,
    /// Lifetime of the client's access without a refresh token.
    pub lifetime: Duration,
    /// State of the sign-in code prompt.
    pub code: CodePrompt,
}

/// Error that is shown to the user as a page, instead of a redirect to the client.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizeError {
    /// The client id is unknown. Registrations may be deleted while clients still have their id.
    #[error("This application is not registered here. Remove the connection in it, and connect again.")]
    UnknownClient,
    /// The client id is the URL of a metadata document that cannot be used.
    #[error(
        "This application is described at {url}, and {why}. If it still fails, make a key with `kitbag key new \
         NAME`, and have the application send it in the header `Authorization: Bearer KEY`."
    )]
    NoDocument {
        /// Client id.
        url: String,
        /// Reason, shown to the user.
        why: String,
    },
    /// The redirect URI is not registered: an error of the client, or an attempt to steal the code.
    #[error("The application did not register the address that it wants to be answered at.")]
    UnknownRedirectUri,
    /// `client_id` or `redirect_uri` is missing or repeated, or a form field is.
    #[error("The link that led here is not a complete sign-in request.")]
    Malformed,
    /// The request is already answered, has expired, or is unknown.
    #[error("This sign-in has ended or was answered before. Start again in the application.")]
    NoSuchRequest,
    /// The user name is empty, too long, or has invisible characters.
    #[error(
        "A user name has 1 to 64 characters, and no control or invisible characters. Go back and choose another."
    )]
    UserName,
    /// The database failed.
    #[error("The server could not read who asks.")]
    Storage(#[from] DatabaseError),
}

impl AuthorizationServer {
    /// Handles an authorization request, given the query of its URL.
    pub async fn authorize(&self, query: &str) -> Result<Step, AuthorizeError> {
        let parameters = Parameters::parse(query);
        let (client, redirect_uri) = self.who_asks(&parameters).await?;
        match self.what_is_asked(&parameters, client, &redirect_uri) {
            Ok(authorization) => {
                let ticket = self.recognise_ticket(&parameters, &authorization);
                let code = if ticket.is_some() { CodePrompt::Unneeded } else { CodePrompt::Asked };
                let pending = Pending { authorization, ticket };
                let mut consent = self.question(&pending, code);
                consent.request_id = self.pending().keep(pending);
                Ok(Step::Ask(Box::new(consent)))
            }
            Err(error) => {
                let state = parameters.get("state").unwrap_or_default();
                Ok(Step::Return(self.answer_with_error(&redirect_uri, state, error)))
            }
        }
    }

    /// Handles a submitted consent form with `request_id`, `decision`, `user` and `code`. Any decision other
    /// than `allow` is a denial, and requires no code.
    pub async fn decide(&self, form: &str) -> Result<Step, AuthorizeError> {
        let parameters = Parameters::parse(form);
        let field = |name| parameters.get(name).map_err(|_repeated| AuthorizeError::Malformed);
        let request_id = field("request_id")?.ok_or(AuthorizeError::Malformed)?;
        let allowed = field("decision")? == Some("allow");
        let user = field("user")?.unwrap_or_default().trim();
        // Check before the request is removed: after a typing error, the form can be submitted again.
        if allowed && !is_user_name(user) {
            return Err(AuthorizeError::UserName);
        }
        let typed = field("code")?.unwrap_or_default();
        let authorization = match self.settle(request_id, allowed.then_some(typed))? {
            Ok(authorization) => authorization,
            Err(asked_again) => return Ok(Step::Ask(Box::new(asked_again))),
        };
        let redirect_uri = authorization.redirect_uri.clone();
        let state = authorization.state.clone();
        if !allowed {
            let denied = ErrorCode::AccessDenied.because("the person did not agree");
            return Ok(Step::Return(self.answer_with_error(&redirect_uri, state.as_deref(), denied)));
        }
        info!(client.id = %authorization.client.id, user.id = user, "a client may act for a user");
        let code = self.codes.lock().await.keep(Code::new(authorization, user.to_owned()));
        Ok(Step::Return(self.answer(&redirect_uri, state.as_deref(), &[("code", &code)])))
    }

    /// Removes the answered request and returns it. `typed` is the code of an approval, `None` for a denial.
    /// An approval with neither the right code nor an unused ticket leaves the request pending, and returns
    /// the consent page again.
    fn settle(
        &self,
        request_id: &str,
        typed: Option<&str>,
    ) -> Result<Result<Authorization, Consent>, AuthorizeError> {
        let mut all_pending = self.pending();
        let pending = all_pending.get_mut(request_id).ok_or(AuthorizeError::NoSuchRequest)?;
        if let Some(typed) = typed {
            let mut check = self.code_check();
            let by_ticket = pending.ticket.take().is_some_and(|ticket| check.use_up(&ticket));
            if !by_ticket && let Err(prompt) = check.check(typed) {
                if prompt == CodePrompt::Wrong {
                    warn!(client.id = %pending.authorization.client.id, "a sign-in with a wrong code");
                }
                let request_id = request_id.to_owned();
                return Ok(Err(Consent { request_id, ..self.question(pending, prompt) }));
            }
        }
        let pending = all_pending.take(request_id).ok_or(AuthorizeError::NoSuchRequest)?;
        Ok(Ok(pending.authorization))
    }

    /// Builds the consent page, without the request's id.
    fn question(&self, pending: &Pending, code: CodePrompt) -> Consent {
        let authorization = &pending.authorization;
        Consent {
            request_id: String::new(),
            client_id: authorization.client.id.clone(),
            client_name: authorization.client.name.clone(),
            client_source: authorization.client.source.clone(),
            redirect_uri: authorization.redirect_uri.clone(),
            scopes: authorization.scopes.clone(),
            lifetime: self.lifetimes.access_token,
            code,
        }
    }

    /// Returns the digest of the request's `ticket` parameter if the ticket is valid; otherwise the page asks
    /// for the code.
    fn recognise_ticket(&self, parameters: &Parameters, authorization: &Authorization) -> Option<Digest> {
        let request = TicketRequest {
            issuer: self.issuer.issuer(),
            client_id: &authorization.client.id,
            code_challenge: parameters.get("code_challenge").ok().flatten()?,
        };
        self.code_check().recognise(parameters.get("ticket").ok().flatten(), &request)
    }

    /// Checks client and redirect URI. Later errors are sent to the redirect URI.
    async fn who_asks(&self, parameters: &Parameters) -> Result<(Client, RedirectUri), AuthorizeError> {
        let field = |name| parameters.get(name).ok().flatten().ok_or(AuthorizeError::Malformed);
        let client_id = field("client_id")?;
        let redirect_uri = field("redirect_uri")?;
        let unknown = |_invalid| AuthorizeError::UnknownRedirectUri;
        let redirect_uri = RedirectUri::parse(redirect_uri).map_err(unknown)?;
        let client = self.client(client_id, &redirect_uri).await?;
        if !client.may_be_answered_at(&redirect_uri) {
            return Err(AuthorizeError::UnknownRedirectUri);
        }
        Ok((client, redirect_uri))
    }

    /// Returns the client with this id that asks to be answered at `redirect_uri`, from its metadata document
    /// or its registration. A client whose document could not be read has no redirect URI but this one.
    async fn client(&self, id: &str, redirect_uri: &RedirectUri) -> Result<Client, AuthorizeError> {
        if !self.documents.is_document(id) {
            let row = self.store.client(id).await?.ok_or(AuthorizeError::UnknownClient)?;
            return Ok(row.into());
        }
        let no_document = match self.documents.client(id).await {
            Ok(client) => return Ok(client),
            Err(no_document) => no_document,
        };
        match no_document.unread() {
            Some(why) if needs_no_document(id, redirect_uri) => Ok(Client {
                id: id.to_owned(),
                name: None,
                redirect_uris: vec![redirect_uri.as_str().to_owned()],
                source: ClientSource::UnreadDocument(why.to_owned()),
            }),
            _ => Err(AuthorizeError::NoDocument { url: id.to_owned(), why: no_document.to_string() }),
        }
    }

    fn what_is_asked(
        &self,
        parameters: &Parameters,
        client: Client,
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
        // Without a method, RFC 7636 defaults to plain, which exposes the verifier in the URL.
        if parameters.get("code_challenge_method")? != Some("S256") {
            return invalid("code_challenge_method must be S256");
        }
        let challenge = parameters.require("code_challenge", "code_challenge is missing")?;
        let Some(challenge) = Challenge::parse(challenge) else {
            return invalid("code_challenge must be 43 characters of base64url");
        };
        self.check_resource(parameters.get("resource")?)?;
        Ok(Authorization {
            client,
            redirect_uri: redirect_uri.clone(),
            state,
            scopes: parameters.get("scope")?.map_or_else(Scopes::all, Scopes::parse),
            challenge,
        })
    }

    fn answer_with_error(&self, to: &RedirectUri, state: Option<&str>, error: OAuthError) -> String {
        self.answer(to, state, &[("error", error.code.as_str()), ("error_description", error.description)])
    }

    /// Builds the URL of an authorization response, with `iss` (RFC 9207).
    fn answer(&self, to: &RedirectUri, state: Option<&str>, answer: &[(&str, &str)]) -> String {
        let state = state.map(|state| ("state", state));
        let issuer = ("iss", self.issuer.issuer());
        let parameters: Vec<_> = answer.iter().copied().chain(state).chain([issuer]).collect();
        to.with(&parameters)
    }
}
