//! Tokens of client-credentials grants (RFC 6749, section 4.4).

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;
use url::form_urlencoded::{self, Serializer};

use super::attachment::{basic_pair, form_encoded};
use super::{Head, Network, Refusal};
use crate::reply::{Failure, TokenProblem};
use crate::test_host::is_token;
use crate::{Auth, OAuth2ClientCredentials, limits};

/// A request for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenRequest {
    /// The request.
    pub head: Head,
    /// Its form.
    pub body: String,
}

/// The response of a token endpoint.
#[derive(Clone, Debug)]
pub struct TokenResponse<'r> {
    /// HTTP status.
    pub status: u16,
    /// Media type of the body, if the response says it.
    pub media_type: Option<&'r str>,
    /// Body as text.
    pub body: &'r str,
}

impl TokenRequest {
    /// Creates the request for the token of a sign-in.
    pub fn of(network: &Network, sign_in: usize) -> Result<Self, Refusal> {
        let grant = grant(network, sign_in)?;
        let [id, secret] = network.values([&grant.client_id_secret, &grant.client_secret_secret])?;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        form.extend_pairs(grant.scope.iter().filter(|it| !it.is_empty()).map(|it| ("scope", it)));
        // Form-encoded (RFC 6749, section 2.3.1).
        let pair = basic_pair(&form_encoded(id), &form_encoded(secret));
        let headers = [
            ("authorization", format!("Basic {pair}")),
            ("accept", "application/json".to_owned()),
            ("content-type", "application/x-www-form-urlencoded".to_owned()),
            ("user-agent", limits::USER_AGENT.to_owned()),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value)).into();
        let head = Head { method: "POST".to_owned(), url: grant.token_url.clone(), headers };
        Ok(Self { head, body: form.finish() })
    }
}

/// Returns the token in the response of a token endpoint.
pub fn granted(network: &Network, sign_in: usize, response: &TokenResponse<'_>) -> Result<String, Refusal> {
    let grant = grant(network, sign_in)?;
    let url = Url::parse(&grant.token_url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("of `auth`");
    let answer = parse(response);
    let error = answer.get("error").and_then(Value::as_str);
    let status = response.status;
    if status == 429 || status >= 500 {
        return Err(Refusal::of(Failure::token_endpoint_down(host, Some(status))));
    }
    if status != 200 || error.is_some() {
        let names = [grant.client_id_secret.clone(), grant.client_secret_secret.clone()];
        let code = error.unwrap_or_default();
        return Err(Refusal::of(Failure::refused_credentials(&network.toolkit, &names, host, status, code)));
    }
    let token =
        token_in(&answer).map_err(|problem| Refusal::of(Failure::unusable_token(host, problem.reason())))?;
    Ok(token.to_owned())
}

fn grant(network: &Network, sign_in: usize) -> Result<&OAuth2ClientCredentials, Refusal> {
    match network.auth.0.get(sign_in) {
        Some(Auth::ClientCredentials(grant)) => Ok(grant),
        _ => Err(Refusal::passing("this sign-in has no token endpoint")),
    }
}

/// Reads a body as JSON, or as a form if its media type says so.
fn parse(response: &TokenResponse<'_>) -> Map<String, Value> {
    let kind = response.media_type.unwrap_or_default().to_ascii_lowercase();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return serde_json::from_str(response.body).unwrap_or_default();
    }
    let pairs = form_urlencoded::parse(response.body.as_bytes());
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect()
}

fn token_in(answer: &Map<String, Value>) -> Result<&str, TokenProblem> {
    // RFC 6749, section 5.1, requires `token_type`, but many servers omit it. Only Bearer is supported.
    let is_bearer = |kind: &Value| kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !answer.get("token_type").is_none_or(|kind| kind.is_null() || is_bearer(kind)) {
        return Err(TokenProblem::NotBearer);
    }
    let token = answer.get("access_token").and_then(Value::as_str).ok_or(TokenProblem::NoToken)?;
    if is_token(token) { Ok(token) } else { Err(TokenProblem::NotAHeaderValue) }
}
