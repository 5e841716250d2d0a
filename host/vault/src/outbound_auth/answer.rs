//! Parser for responses of token endpoints (RFC 6749, section 5), including deviations of real providers.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use kitbag_manifest::reply::{TokenProblem, token_error};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::token::MAX_TOKEN_BYTES;
use super::{SignInError, account_name};

/// Maximum size of a response, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// Tokens granted by a token endpoint.
pub(super) struct Granted {
    pub(super) access_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
    pub(super) lifetime: Option<Duration>,
    /// Granted scopes, separated by spaces; `None` if the response has none, which means as requested.
    pub(super) scope: Option<String>,
    /// Name of the account, from the ID token.
    pub(super) name: Option<String>,
}

/// Members of a response, whether a success or an error.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenResponse {
    access_token: Option<SecretString>,
    /// Required by the RFC, but omitted by many servers: Bearer is assumed then.
    token_type: Option<String>,
    expires_in: Option<Seconds>,
    refresh_token: Option<SecretString>,
    scope: Option<Scope>,
    /// OpenID Connect Core 1.0, section 3.1.3.3.
    id_token: Option<SecretString>,
    error: Option<String>,
    /// Slack: `false` in an error response, whose status is 200.
    ok: Option<bool>,
    /// Slack: contains the token of the user; `access_token` is the token of the app.
    authed_user: Option<Value>,
}

/// A number of seconds, which some servers write as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(f64),
    Text(String),
}

/// Scopes as a string or a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scope {
    Text(String),
    List(Vec<String>),
}

/// Parses a response of the endpoint at `host`.
pub(super) fn read(host: &str, response: &Response<Bytes>) -> Result<Granted, SignInError> {
    let unusable = |reason| SignInError::Unusable { host: host.to_owned(), reason };
    let answer = parse(response);
    let status = response.status();
    let error = answer.as_ref().and_then(|it| it.error.as_deref());
    let is_refused = error.is_some() || answer.as_ref().is_some_and(|it| it.ok == Some(false));
    if status != StatusCode::OK || is_refused {
        return Err(SignInError::Refused {
            host: host.to_owned(),
            status,
            code: error.and_then(token_error),
        });
    }
    let answer = answer.ok_or_else(|| unusable(TokenProblem::NoToken.reason()))?;
    let is_bearer = |kind: &str| {
        // Slack names the kind of app instead of `bearer`.
        kind.eq_ignore_ascii_case("bearer") || (answer.ok == Some(true) && kind == "bot")
    };
    if answer.token_type.as_deref().is_some_and(|kind| !is_bearer(kind)) {
        return Err(unusable(TokenProblem::NotBearer.reason()));
    }
    let Some(access_token) = answer.access_token else {
        let is_elsewhere = answer.authed_user.as_ref().is_some_and(|it| it.get("access_token").is_some());
        return Err(unusable(if is_elsewhere {
            "its token is that of `authed_user`, which is not supported: ask for scopes of the app, not of the user"
        } else {
            TokenProblem::NoToken.reason()
        }));
    };
    let refresh_token = answer.refresh_token;
    if refresh_token.as_ref().is_some_and(|it| it.expose_secret().len() > MAX_TOKEN_BYTES) {
        return Err(unusable("its refresh_token is too long"));
    }
    let lifetime = answer.expires_in.and_then(Seconds::duration);
    let name = answer.id_token.and_then(|token| account_name::of_id_token(token.expose_secret()));
    Ok(Granted { access_token, refresh_token, lifetime, scope: answer.scope.and_then(Scope::text), name })
}

/// Parses a body as JSON, or as a form if its media type says so: GitHub sends forms unless JSON is
/// requested.
fn parse(response: &Response<Bytes>) -> Option<TokenResponse> {
    let body = response.body();
    let is_form = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded"));
    if !is_form {
        return serde_json::from_slice(body).ok();
    }
    let pairs =
        form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned().into()));
    serde_json::from_value(Value::Object(pairs.collect::<Map<_, _>>())).ok()
}

impl Seconds {
    /// Returns the duration; `None` if it is not a valid number of seconds.
    fn duration(self) -> Option<Duration> {
        let seconds = match self {
            Self::Number(seconds) => seconds,
            Self::Text(text) => text.parse().ok()?,
        };
        // Larger values than a `Duration` can represent become its maximum.
        if seconds >= 1e18 { Some(Duration::MAX) } else { Duration::try_from_secs_f64(seconds).ok() }
    }
}

impl Scope {
    /// Returns the scopes separated by spaces, even if the server used commas; `None` if there are none.
    fn text(self) -> Option<String> {
        let words: Vec<_> = match self {
            Self::Text(text) => text.split([' ', ',']).map(str::to_owned).collect(),
            Self::List(list) => list,
        };
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, kind: &str, body: &str) -> Result<Granted, String> {
        let response = Response::builder()
            .status(status)
            .header(CONTENT_TYPE, kind)
            .body(Bytes::from(body.to_owned()))
            .expect("a response");
        read("auth.example", &response).map_err(|error| error.to_string())
    }

    const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";
    const JSON: &str = "application/json";

    #[test]
    fn answers_of_real_providers_are_read() {
        let cases = [
            (FORM, "access_token=t&scope=repo%2Cgist&token_type=bearer", None, None, Some("repo gist")),
            (
                FORM,
                "access_token=t&expires_in=28800&refresh_token=r&scope=&token_type=bearer",
                Some("r"),
                Some(28_800),
                None,
            ),
            (
                JSON,
                r#"{"access_token":"t","expires_in":3599,"refresh_token":"r","scope":"a b","token_type":"Bearer"}"#,
                Some("r"),
                Some(3599),
                Some("a b"),
            ),
            (
                JSON,
                r#"{"access_token":"t","token_type":null,"workspace_id":"w","owner":{}}"#,
                None,
                None,
                None,
            ),
            (
                JSON,
                r#"{"ok":true,"access_token":"t","token_type":"bot","scope":"chat:write,users:read","authed_user":{"id":"U"}}"#,
                None,
                None,
                Some("chat:write users:read"),
            ),
            (
                JSON,
                r#"{"access_token":"t","expires_in":"60","scope":["a","b"]}"#,
                None,
                Some(60),
                Some("a b"),
            ),
        ];
        for (kind, body, refresh, lifetime, scope) in cases {
            let granted = answer(200, kind, body).expect(body);
            assert_eq!(granted.access_token.expose_secret(), "t", "{body}");
            assert_eq!(granted.refresh_token.as_ref().map(ExposeSecret::expose_secret), refresh, "{body}");
            assert_eq!(granted.lifetime.map(|it| it.as_secs()), lifetime, "{body}");
            assert_eq!(granted.scope.as_deref(), scope, "{body}");
        }
    }

    #[test]
    fn refusals_have_any_status_and_repeat_known_codes_alone() {
        for (status, kind, body, expected) in [
            (400, JSON, r#"{"error":"invalid_grant"}"#, "400 Bad Request invalid_grant"),
            (200, JSON, r#"{"ok":false,"error":"canary"}"#, "200 OK"),
            (200, JSON, r#"{"error":"invalid_grant"}"#, "200 OK invalid_grant"),
            (200, FORM, "error=canary&error_description=canary", "200 OK"),
            (200, JSON, r#"{"access_token":"t","ok":false}"#, "200 OK"),
            (502, "text/html", "<h1>canary</h1>", "502 Bad Gateway"),
        ] {
            let error = answer(status, kind, body).err().expect(body);
            assert!(error.ends_with(expected) && !error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn what_has_no_token_for_requests_says_so() {
        for (body, expected) in [
            (r#"{"ok":true,"authed_user":{"access_token":"canary"}}"#, "authed_user"),
            ("<html>canary</html>", "no JSON object"),
            (r#"{"access_token":7}"#, "no JSON object"),
            (r#"{"access_token":"canary","token_type":"mac"}"#, "not Bearer"),
            (r#"{"access_token":"canary","token_type":"bot"}"#, "not Bearer"),
        ] {
            let error = answer(200, JSON, body).err().expect(body);
            assert!(error.contains(expected) && !error.contains("canary"), "{error}");
        }
    }
}
