//! Endpoints of the local issuer, without HTTP.
//!
//! A sign-in goes `register → authorize → (a person) → decide → token → token → …`. Clients and grants are
//! stored in the database, secrets as SHA-256; pending consents and codes are in memory for minutes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kitbag_base::loopback::loopback_names;
use kitbag_database::Database;
use kitbag_net::egress::Egress;
use serde_json::Value;
use url::Url;

use super::authorization::{Code, Pending};
use super::code_check::CodeCheck;
use super::issuer::LocalIssuer;
use super::metadata_document::MetadataDocuments;
use super::oauth_error::{ErrorCode, OAuthError};
use super::short_lived::ShortLived;
use super::sign_in_code::SignInCode;
use super::store::Store;

/// OAuth authorization server: registers clients, asks for consent, and issues tokens.
pub struct AuthorizationServer {
    pub(super) issuer: Arc<LocalIssuer>,
    /// Base URLs of this server, with each of its names.
    base_urls: Vec<Url>,
    pub(super) store: Store,
    pub(super) documents: MetadataDocuments,
    pub(super) lifetimes: Lifetimes,
    /// Authorization requests with an open consent page.
    pending: Mutex<ShortLived<Pending>>,
    /// Check of the sign-in code or ticket that consent requires.
    code_check: Mutex<CodeCheck>,
    /// Locked until the grant of a redeemed code is stored, so that a replay finds the grant to revoke.
    pub(super) codes: tokio::sync::Mutex<ShortLived<Code>>,
}

/// Lifetimes of consent pages, codes and tokens.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// Lifetime of a consent page.
    pub consent: Duration,
    /// Lifetime of a code, from the consent to the client's token request.
    pub code: Duration,
    /// Lifetime of an access token.
    pub access_token: Duration,
    /// Lifetime of an unused refresh token.
    pub refresh_token: Duration,
    /// Grace period of replaced refresh tokens, for clients that share one or lost the response.
    pub replaced_token: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            consent: Duration::from_mins(10),
            code: Duration::from_mins(2),
            access_token: Duration::from_hours(1),
            refresh_token: Duration::from_hours(24 * 30),
            replaced_token: Duration::from_mins(10),
        }
    }
}

impl AuthorizationServer {
    /// Creates a server that issues tokens of `issuer`. Consent requires `code`; clients and grants are in
    /// `database`; client metadata documents are fetched through `egress`.
    pub fn new(
        issuer: Arc<LocalIssuer>,
        code: SignInCode,
        database: Database,
        egress: Egress,
        lifetimes: Lifetimes,
    ) -> Self {
        let store = Store::new(database);
        let documents = MetadataDocuments::new(egress);
        let base_urls = issuer.issuer().parse().map_or_else(|_| Vec::new(), |url| loopback_names(&url));
        Self {
            issuer,
            base_urls,
            store,
            documents,
            lifetimes,
            pending: Mutex::new(ShortLived::new(lifetimes.consent)),
            code_check: Mutex::new(CodeCheck::new(code)),
            codes: tokio::sync::Mutex::new(ShortLived::new(lifetimes.code)),
        }
    }

    /// The issuer of the tokens.
    pub fn issuer(&self) -> &LocalIssuer {
        &self.issuer
    }

    /// Authorization server metadata (RFC 8414), with support for client id metadata documents.
    pub fn metadata(&self) -> Value {
        let mut metadata = self.issuer.metadata();
        metadata["client_id_metadata_document_supported"] = self.documents.are_offered().into();
        metadata
    }

    /// Locks the requests with an open consent page.
    pub(super) fn pending(&self) -> MutexGuard<'_, ShortLived<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the check of codes and tickets.
    pub(super) fn code_check(&self) -> MutexGuard<'_, CodeCheck> {
        self.code_check.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a client with this id may send token requests. Does not fetch metadata documents: pages of any
    /// origin may send token requests, and would make this server send requests.
    pub(super) async fn knows_client(&self, id: &str) -> kitbag_database::Result<bool> {
        Ok(self.documents.is_document(id) || self.store.client(id).await?.is_some())
    }

    /// Checks a resource indicator (RFC 8707): it must be absent or name this server, by any of its names on
    /// loopback.
    pub(super) fn check_resource(&self, resource: Option<&str>) -> Result<(), OAuthError> {
        let own = resource.is_none_or(|resource| {
            self.base_urls.iter().any(|base_url| {
                let path = resource.strip_prefix(base_url.as_str().trim_end_matches('/'));
                path.is_some_and(|path| ["", "/", "/mcp", "/mcp/"].contains(&path))
            })
        });
        if own { Ok(()) } else { Err(ErrorCode::InvalidTarget.because("the resource is not this server")) }
    }
}

impl fmt::Debug for AuthorizationServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuthorizationServer").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
