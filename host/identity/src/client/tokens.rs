//! Token requests with an authorization code or a refresh token (RFC 6749, sections 4.1.3 and 6).

use std::fmt;

use http::StatusCode;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::{AuthorizationServer, Client, ClientError, Http, WholeResponse, beginning};

/// The response to a token request.
#[derive(Debug)]
pub struct Tokens {
    /// The access token.
    pub access_token: SecretString,
    /// New refresh token; `None` if the previous one stays valid.
    pub refresh_token: Option<SecretString>,
    /// Expiry of the access token in seconds since 1970, if the issuer states it.
    pub expires_at: Option<i64>,
}

/// Authorization code, with the parameters that its redemption requires.
pub struct Code<'a> {
    /// Client that the code was issued to.
    pub client: &'a Client,
    /// Redirect URI of the authorization request.
    pub redirect_uri: &'a str,
    /// PKCE code verifier of the authorization request.
    pub verifier: &'a str,
    /// Value of the response parameter `code`.
    pub value: &'a str,
}

/// OAuth error response (RFC 6749, section 5.2).
#[derive(Debug)]
pub struct ErrorResponse {
    error: String,
    description: Option<String>,
}

#[derive(Deserialize)]
struct Issued {
    access_token: SecretString,
    token_type: String,
    refresh_token: Option<SecretString>,
    expires_in: Option<i64>,
}

/// Exchanges an authorization code for tokens. The inner error is the issuer's refusal, which is final; the
/// outer one may be temporary.
pub async fn redeem(
    http: &Http,
    server: &AuthorizationServer,
    code: &Code<'_>,
) -> Result<Result<Tokens, ErrorResponse>, ClientError> {
    let form = [
        ("grant_type", "authorization_code"),
        ("redirect_uri", code.redirect_uri),
        ("code_verifier", code.verifier),
        ("code", code.value),
        ("resource", &server.resource),
    ];
    request(http, &server.token_endpoint, code.client, &form).await
}

/// Exchanges a refresh token for new tokens. The inner error is the issuer's refusal, which is final; the
/// outer one may be temporary.
pub async fn refresh(
    http: &Http,
    token_endpoint: &Url,
    client: &Client,
    resource: &str,
    refresh_token: &SecretString,
) -> Result<Result<Tokens, ErrorResponse>, ClientError> {
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token.expose_secret()),
        ("resource", resource),
    ];
    request(http, token_endpoint, client, &form).await
}

/// Revokes a refresh token and its grant (RFC 7009).
pub async fn revoke(
    http: &Http,
    endpoint: &Url,
    client: &Client,
    refresh_token: &SecretString,
) -> Result<(), ClientError> {
    let form = [("token", refresh_token.expose_secret()), ("token_type_hint", "refresh_token")];
    let answer = http.post_form(endpoint, client, &form).await?;
    if answer.status.is_success() {
        Ok(())
    } else {
        Err(ClientError::new(format!(
            "{endpoint} answered {}: {}",
            answer.status,
            ErrorResponse::of(&answer)
        )))
    }
}

async fn request(
    http: &Http,
    endpoint: &Url,
    client: &Client,
    form: &[(&str, &str)],
) -> Result<Result<Tokens, ErrorResponse>, ClientError> {
    let asked = Timestamp::now().as_second();
    let answer = http.post_form(endpoint, client, form).await?;
    // 429 is temporary; every other refusal is final.
    if answer.status.is_client_error() && answer.status != StatusCode::TOO_MANY_REQUESTS {
        return Ok(Err(ErrorResponse::of(&answer)));
    }
    if !answer.status.is_success() {
        return Err(ClientError::new(format!("{endpoint} answered {}", answer.status)));
    }
    // A body that cannot be parsed is not shown: it may contain a token.
    let issued: Issued = serde_json::from_slice(&answer.body).map_err(|_unreadable| {
        ClientError::new(format!("{endpoint} answered something other than tokens"))
    })?;
    if !issued.token_type.eq_ignore_ascii_case("Bearer") {
        return Err(ClientError::new(format!("{endpoint} gives no bearer tokens")));
    }
    Ok(Ok(Tokens {
        access_token: issued.access_token,
        refresh_token: issued.refresh_token,
        expires_at: issued.expires_in.map(|seconds| asked.saturating_add(seconds)),
    }))
}

impl ErrorResponse {
    /// Returns the error of a sign-in whose code `server` has refused.
    pub fn of_sign_in(&self, server: &AuthorizationServer) -> ClientError {
        ClientError::new(format!("{} refused to end the sign-in: {self}", server.issuer))
    }

    pub(super) fn of(answer: &WholeResponse) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: String,
            error_description: Option<String>,
        }
        match serde_json::from_slice::<Body>(&answer.body) {
            Ok(Body { error, error_description }) => Self {
                error: beginning(&error).to_owned(),
                description: error_description.map(|it| beginning(&it).to_owned()),
            },
            Err(_) => Self { error: answer.status.to_string(), description: None },
        }
    }
}

impl fmt::Display for ErrorResponse {
    /// Escapes control characters, which would control the terminal.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.error.escape_debug())?;
        match &self.description {
            Some(description) => write!(formatter, " ({})", description.escape_debug()),
            None => Ok(()),
        }
    }
}
