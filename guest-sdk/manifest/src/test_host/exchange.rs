//! Requests of a handler: the allowlist, sign-in and redirects, as a server applies them.
//!
//! An [`Exchange`] is one request of a handler with all requests that it needs. The caller sends what it is told to
//! send, and reports what came back:
//!
//! 1. [`Exchange::next`] says what to send now, or that a token is needed first;
//! 2. for a token, the caller sends [`TokenRequest::of`] and passes the response to [`granted`];
//! 3. [`Exchange::responded`] says what follows from a response.
//!
//! Invariants:
//! - only the `apiHost` of a sign-in receives what it attaches, over `https` or on loopback, not after a redirect by
//!   another host, and not where the handler has set the header or parameter itself;
//! - no redirect leads from `https` to `http` or to a host that `egress` does not list, and headers with credentials
//!   do not follow it to another origin.

mod attachment;
mod redirect;
mod step;
mod token;

use std::borrow::Cow;
use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

pub use self::attachment::Attached;
use self::attachment::is_set_in;
pub use self::redirect::RedirectMode;
pub use self::step::{Following, Head, Refusal, Responded, Sending};
pub use self::token::{TokenRequest, TokenResponse, granted};
use crate::redaction::Redactor;
use crate::reply::Failure;
use crate::{Auth, Auths, egress};

/// What the requests of a call may use.
#[derive(Clone, Default, Deserialize)]
pub struct Network {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Hosts that may be reached.
    #[serde(default)]
    pub egress: Vec<String>,
    /// Declared sign-ins.
    #[serde(default)]
    pub auth: Auths,
    /// Values of credentials by name.
    #[serde(default)]
    pub secrets: BTreeMap<String, String>,
    /// Access token of the user's connected account.
    #[serde(default)]
    pub account: Option<String>,
    /// Tokens of client-credentials grants, at the index of their sign-in; may be shorter than `auth`.
    #[serde(default)]
    pub tokens: Vec<Option<String>>,
    /// Values attached so far, besides secrets.
    #[serde(default)]
    pub attached: Vec<String>,
}

/// State of one request of a handler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Exchange {
    attachable: Attachable,
    /// Whether a refused token was replaced: once for each request.
    is_renewed: bool,
    /// Number of redirects so far.
    redirects: usize,
}

/// Sign-ins that may be attached to the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Attachable {
    /// Any: nothing was sent yet.
    #[default]
    Any,
    /// Only this one: all requests so far were to its host.
    One(usize),
    /// None: another host has chosen the target, or the handler has set the credential itself.
    None,
}

/// Methods without a sign-in: TRACE echoes the request, credentials included (RFC 9110, section 9.3.8).
const METHODS_WITHOUT_SIGN_IN: [&str; 2] = ["TRACE", "CONNECT"];

impl Exchange {
    /// Returns what to send for a request.
    pub fn next(&mut self, network: &Network, head: &Head) -> Sending {
        let Ok(url) = Url::parse(&head.url) else {
            return Sending::Fail(Refusal::passing("the URL is not valid"));
        };
        if !egress::allows(&network.egress, &url) {
            return Sending::Fail(Refusal::passing(&egress::not_listed(&egress::entry_for(&url))));
        }
        let Some((index, auth)) = self.sign_in(network, head, &url) else {
            self.attachable = Attachable::None;
            return Sending::Send { attach: None };
        };
        self.attachable = Attachable::One(index);
        if matches!(auth, Auth::ClientCredentials(_)) && network.token(index).is_none() {
            return Sending::Token { sign_in: index };
        }
        match network.attachment(index, auth) {
            Ok(attachment) => Sending::Send { attach: Some(attachment.on(index, &head.url)) },
            Err(refusal) => Sending::Fail(refusal),
        }
    }

    /// Returns what follows from the response to a request.
    pub fn responded(&mut self, network: &Network, head: &Head, response: &Responded) -> Following {
        let signed = match self.attachable {
            Attachable::One(index) => network.auth.0.get(index).map(|auth| (index, auth)),
            Attachable::Any | Attachable::None => None,
        };
        let mut failure = None;
        match (signed, response.status) {
            (Some((index, Auth::ClientCredentials(_))), 401 | 403)
                if !self.is_renewed && response.is_repeatable =>
            {
                self.is_renewed = true;
                return Following::Renew { sign_in: index };
            }
            (Some((_, Auth::AuthorizationCode(grant))), status @ 401) => {
                failure = Some(Failure::account_refused(&network.toolkit, &grant.api_host, status));
            }
            _ => {}
        }
        let attached = signed.and_then(|(_, auth)| network.query_parameter(auth));
        redirect::follow(self, head, response, attached, &network.redactor())
            .unwrap_or_else(|message| Some(Following::Fail { message }))
            .unwrap_or(Following::Answer { failure })
    }

    /// Returns the sign-in that applies to a request, with its index.
    fn sign_in<'n>(&self, network: &'n Network, head: &Head, url: &Url) -> Option<(usize, &'n Auth)> {
        let mut auths = network.auth.iter().enumerate();
        let (index, auth) = auths.find(|(_, it)| egress::is_api_host(it.api_host(), url))?;
        let is_next = [Attachable::Any, Attachable::One(index)].contains(&self.attachable);
        let may_carry = !METHODS_WITHOUT_SIGN_IN.contains(&head.method.as_str());
        (is_next && may_carry && !is_set_in(head, url, auth)).then_some((index, auth))
    }
}

impl Network {
    /// Returns a redactor of the secrets, and of what was attached.
    pub fn redactor(&self) -> Redactor {
        let values = self
            .secrets
            .values()
            .chain(&self.account)
            .chain(self.tokens.iter().flatten())
            .chain(&self.attached);
        redactor(values.map(String::as_str))
    }

    /// Returns the current token of a sign-in.
    pub fn token(&self, sign_in: usize) -> Option<&str> {
        self.tokens.get(sign_in)?.as_deref()
    }

    /// Replaces the token of a sign-in.
    pub fn set_token(&mut self, sign_in: usize, token: String) {
        self.tokens.resize(self.tokens.len().max(sign_in + 1), None);
        self.tokens[sign_in] = Some(token);
    }

    /// Returns the values of credentials; the refusal names the missing ones.
    fn values<const N: usize>(&self, names: [&String; N]) -> Result<[&str; N], Refusal> {
        let missing: Vec<_> =
            names.into_iter().filter(|it| !self.secrets.contains_key(*it)).cloned().collect();
        if missing.is_empty() {
            return Ok(names.map(|name| self.secrets[name].as_str()));
        }
        Err(Refusal::of(Failure::missing_credentials(&self.toolkit, &missing)))
    }
}

/// Creates a redactor of values.
pub fn redactor<'v>(values: impl Iterator<Item = &'v str>) -> Redactor {
    let values: Vec<SecretString> = values.map(Into::into).collect();
    Redactor::new(&values)
}

/// Whether a text has one of the redacted values.
fn has_secret(secrets: &Redactor, text: &str) -> bool {
    matches!(secrets.redact(text), Cow::Owned(_))
}
