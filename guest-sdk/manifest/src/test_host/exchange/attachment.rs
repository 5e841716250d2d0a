//! What a sign-in attaches to a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use url::Url;
use url::form_urlencoded::byte_serialize;

use super::{Head, Network, Refusal};
use crate::reply::{CredentialProblem, Failure};
use crate::{Auth, KeyPlace};

/// A value to attach, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attachment {
    name: String,
    value: String,
    place: KeyPlace,
    /// Text to redact that no secret contains.
    redacted: Option<String>,
}

/// What to change in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    /// Index of the sign-in.
    pub sign_in: usize,
    /// Header to set.
    pub header: Option<(String, String)>,
    /// URL to use instead: the same with a query parameter.
    pub url: Option<String>,
    /// Text to redact in all output, besides the secrets.
    pub redacted: Option<String>,
}

impl Network {
    /// Returns what a sign-in attaches. A client-credentials grant needs its token.
    pub(super) fn attachment(&self, index: usize, auth: &Auth) -> Result<Attachment, Refusal> {
        let unusable = |name: &str, problem: CredentialProblem| {
            Refusal::of(Failure::unusable_credential(&self.toolkit, name, problem.reason()))
        };
        match auth {
            Auth::ClientCredentials(_) => {
                let token = self.token(index).ok_or_else(|| Refusal::passing("there is no token"))?;
                Ok(Attachment::bearer(token))
            }
            Auth::AuthorizationCode(grant) => match &self.account {
                Some(token) => Ok(Attachment::bearer(token)),
                None => Err(Refusal::of(Failure::no_account(&self.toolkit, &grant.api_host))),
            },
            Auth::ApiKey(key) => {
                let [value] = self.values([&key.secret])?;
                let name = key.name().to_owned();
                let place = key.place;
                if place == KeyPlace::Query {
                    return Ok(Attachment { name, value: value.to_owned(), place, redacted: None });
                }
                let value = format!("{}{value}", key.prefix.as_deref().unwrap_or_default());
                if value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
                    return Ok(Attachment { name, value, place, redacted: None });
                }
                Err(unusable(&key.secret, CredentialProblem::NotAHeaderValue))
            }
            Auth::Basic(basic) => {
                let [username, password] = self.values([&basic.username_secret, &basic.password_secret])?;
                if username.contains(':') {
                    return Err(unusable(&basic.username_secret, CredentialProblem::Colon));
                }
                let pair = basic_pair(username, password);
                Ok(Attachment {
                    redacted: Some(pair.clone()),
                    ..Attachment::authorization(format!("Basic {pair}"))
                })
            }
        }
    }

    /// Returns the query parameter that a sign-in attaches.
    pub(super) fn query_parameter<'n>(&'n self, auth: &'n Auth) -> Option<(&'n str, &'n str)> {
        match auth {
            Auth::ApiKey(key) if key.place == KeyPlace::Query => {
                Some((key.name(), self.secrets.get(&key.secret)?))
            }
            _ => None,
        }
    }
}

impl Attachment {
    fn bearer(token: &str) -> Self {
        Self { redacted: Some(token.to_owned()), ..Self::authorization(format!("Bearer {token}")) }
    }

    fn authorization(value: String) -> Self {
        Self { name: "authorization".to_owned(), value, place: KeyPlace::Header, redacted: None }
    }

    /// Returns the changes of a request to `url`.
    pub(super) fn on(self, sign_in: usize, url: &str) -> Attached {
        let Self { name, value, place, redacted } = self;
        match place {
            KeyPlace::Header => {
                Attached { sign_in, header: Some((name.to_ascii_lowercase(), value)), url: None, redacted }
            }
            KeyPlace::Query => {
                Attached { sign_in, header: None, url: Some(with_parameter(url, &name, &value)), redacted }
            }
        }
    }
}

/// Whether the handler has already set the header or parameter that a sign-in would set.
pub(super) fn is_set_in(head: &Head, url: &Url, auth: &Auth) -> bool {
    let has_header = |name: &str| head.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    match auth {
        Auth::ApiKey(key) if key.place == KeyPlace::Query => {
            url.query_pairs().any(|(name, _)| name == key.name())
        }
        Auth::ApiKey(key) => has_header(key.name()),
        _ => has_header("authorization"),
    }
}

/// Returns user name and password as in an `Authorization` header (RFC 7617).
pub(super) fn basic_pair(username: &str, password: &str) -> String {
    STANDARD.encode(format!("{username}:{password}"))
}

/// Encodes a text as in a form.
pub(super) fn form_encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// Adds a query parameter. The handler's own parameters are not encoded again.
fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let (rest, fragment) = url.find('#').map_or((url, ""), |at| url.split_at(at));
    let separator = match rest.find('?') {
        None => "?",
        Some(_) if rest.ends_with(['?', '&']) => "",
        Some(_) => "&",
    };
    format!("{rest}{separator}{}={}{fragment}", form_encoded(name), form_encoded(value))
}
