//! Authorization requests, from the consent page to the redeemed code.

use kitbag_base::sha256::Digest;

use super::client::Client;
use super::pkce::Challenge;
use super::redirect_uri::RedirectUri;
use super::scopes::Scopes;
use super::store;

/// A validated authorization request.
#[derive(Clone, Debug)]
pub(super) struct Authorization {
    pub(super) client: Client,
    pub(super) redirect_uri: RedirectUri,
    pub(super) state: Option<String>,
    pub(super) scopes: Scopes,
    pub(super) challenge: Challenge,
}

/// A request with an open consent page.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) authorization: Authorization,
    /// SHA-256 of the ticket that replaces the sign-in code, once.
    pub(super) ticket: Option<Digest>,
}

/// State of an authorization code.
#[derive(Debug)]
pub(super) enum Code {
    Fresh {
        authorization: Box<Authorization>,
        user: String,
        /// Time of the consent, in milliseconds since 1970.
        issued_at: i64,
    },
    /// The code was presented. `grant_id` is the id of the resulting grant, if one was stored.
    Spent { grant_id: String },
}

impl Code {
    pub(super) fn new(authorization: Authorization, user: String) -> Self {
        Self::Fresh { authorization: Box::new(authorization), user, issued_at: store::now() }
    }
}
