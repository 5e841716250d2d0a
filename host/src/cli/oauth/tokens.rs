//! Codes and refresh tokens → tokens (RFC 6749, sections 4.1.3 and 6).

use std::fmt;

use http::StatusCode;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::{Answer, AuthorizationServer, Http};
use crate::cli::CliError;

/// What a token request brought.
#[derive(Debug)]
pub(in crate::cli) struct Tokens {
    pub(in crate::cli) access_token: SecretString,
    /// Absent where the old one stays good.
    pub(in crate::cli) refresh_token: Option<SecretString>,
    /// When the access token expires, in seconds since 1970, where the issuer says so.
    pub(in crate::cli) expires_at: Option<i64>,
}

/// A code, and what proves that it is ours.
pub(in crate::cli) struct Code<'a> {
    pub(in crate::cli) client_id: &'a str,
    pub(in crate::cli) redirect_uri: &'a str,
    pub(in crate::cli) verifier: &'a str,
    pub(in crate::cli) value: &'a str,
}

/// An error in OAuth's form (RFC 6749, section 5.2).
#[derive(Debug)]
pub(in crate::cli) struct ErrorResponse {
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

/// Redeems a code.
pub(in crate::cli) async fn redeem(
    http: &Http,
    server: &AuthorizationServer,
    code: &Code<'_>,
) -> Result<Tokens, CliError> {
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", code.client_id),
        ("redirect_uri", code.redirect_uri),
        ("code_verifier", code.verifier),
        ("code", code.value),
        ("resource", &server.resource),
    ];
    request(http, &server.token_endpoint, &form)
        .await?
        .map_err(|refusal| CliError::new(format!("{} refused to end the sign-in: {refusal}", server.issuer)))
}

/// Trades a refresh token in. The inner error is the issuer's, and final.
pub(in crate::cli) async fn refresh(
    http: &Http,
    token_endpoint: &Url,
    client_id: &str,
    resource: &str,
    refresh_token: &SecretString,
) -> Result<Result<Tokens, ErrorResponse>, CliError> {
    let form = [
        ("grant_type", "refresh_token"),
        ("client_id", client_id),
        ("refresh_token", refresh_token.expose_secret()),
        ("resource", resource),
    ];
    request(http, token_endpoint, &form).await
}

/// Ends a refresh token and what came of it (RFC 7009).
pub(in crate::cli) async fn revoke(
    http: &Http,
    endpoint: &Url,
    client_id: &str,
    refresh_token: &SecretString,
) -> Result<(), CliError> {
    let form = [
        ("token", refresh_token.expose_secret()),
        ("token_type_hint", "refresh_token"),
        ("client_id", client_id),
    ];
    let answer = http.post_form(endpoint, &form).await?;
    if answer.status.is_success() {
        Ok(())
    } else {
        Err(CliError::new(format!("{endpoint} answered {}: {}", answer.status, ErrorResponse::of(&answer))))
    }
}

async fn request(
    http: &Http,
    endpoint: &Url,
    form: &[(&str, &str)],
) -> Result<Result<Tokens, ErrorResponse>, CliError> {
    let asked = Timestamp::now().as_second();
    let answer = http.post_form(endpoint, form).await?;
    // Whoever asks too often may ask again; every other refusal is final.
    if answer.status.is_client_error() && answer.status != StatusCode::TOO_MANY_REQUESTS {
        return Ok(Err(ErrorResponse::of(&answer)));
    }
    if !answer.status.is_success() {
        return Err(CliError::new(format!("{endpoint} answered {}", answer.status)));
    }
    // What cannot be read is not shown: it may hold a token.
    let issued: Issued = serde_json::from_slice(&answer.body)
        .map_err(|_unreadable| CliError::new(format!("{endpoint} answered something other than tokens")))?;
    if !issued.token_type.eq_ignore_ascii_case("Bearer") {
        return Err(CliError::new(format!("{endpoint} gives no bearer tokens")));
    }
    Ok(Ok(Tokens {
        access_token: issued.access_token,
        refresh_token: issued.refresh_token,
        expires_at: issued.expires_in.map(|seconds| asked.saturating_add(seconds)),
    }))
}

impl ErrorResponse {
    pub(super) fn of(answer: &Answer) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: String,
            error_description: Option<String>,
        }
        match serde_json::from_slice::<Body>(&answer.body) {
            Ok(Body { error, error_description }) => Self { error, description: error_description },
            Err(_) => Self { error: answer.status.to_string(), description: None },
        }
    }
}

impl fmt::Display for ErrorResponse {
    /// Without control characters: a terminal would obey them.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.error.escape_debug())?;
        match &self.description {
            Some(description) => write!(formatter, " ({})", description.escape_debug()),
            None => Ok(()),
        }
    }
}
