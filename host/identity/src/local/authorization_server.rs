//! Endpoints of the local issuer, without HTTP.
//!
//! A sign-in goes `register → authorize → (a person) → decide → token → token → …`. Clients and grants are
//! stored in the database, secrets as SHA-256; pending consents and codes are in memory for minutes.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_base::loopback::loopback_names;
use kitbag_database::Database;
use kitbag_net::egress::Egress;
use serde_json::Value;
use url::Url;

use super::authorize::{AuthorizeError, Pending};
use super::code_check::CodeCheck;
use super::metadata_document::{self, MetadataDocuments};
use super::redirect_uri::RedirectUri;
use super::short_lived::ShortLived;
use super::sign_in_code::SignInCode;
use super::store::{ClientRow, Store};
use super::token::Code;
use super::{ErrorCode, LocalIssuer, OAuthError};

/// OAuth authorization server: registers clients, asks for consent, and issues tokens.
pub struct AuthorizationServer {
    pub(super) issuer: Arc<LocalIssuer>,
    /// Base URLs of this server, with each of its names.
    base_urls: Vec<Url>,
    pub(super) store: Store,
    pub(super) documents: MetadataDocuments,
    pub(super) lifetimes: Lifetimes,
    /// Authorization requests with an open consent page.
    pub(super) pending: Mutex<ShortLived<Pending>>,
    /// Check of the sign-in code or ticket that consent requires.
    pub(super) code_check: Mutex<CodeCheck>,
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

/// An OAuth client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) redirect_uris: Vec<String>,
    pub(super) source: ClientSource,
}

/// Source of a client's name and redirect URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientSource {
    /// Registration at this server.
    Registration,
    /// Metadata document; its URL is the client id.
    Document,
    /// The authorization request alone: the metadata document could not be read, for this reason. The client
    /// has no name.
    UnreadDocument(String),
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
        let (store, documents) = (Store::new(database), MetadataDocuments::new(egress));
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

    /// Returns the client with this id that asks to be answered at `redirect_uri`, from its metadata document
    /// or its registration. A client whose document could not be read has no redirect URI but this one.
    pub(super) async fn client(
        &self,
        id: &str,
        redirect_uri: &RedirectUri,
    ) -> Result<Client, AuthorizeError> {
        if !self.documents.is_document(id) {
            let row = self.store.client(id).await?.ok_or(AuthorizeError::UnknownClient)?;
            return Ok(row.into());
        }
        let no_document = match self.documents.client(id).await {
            Ok(client) => return Ok(client),
            Err(no_document) => no_document,
        };
        match no_document.unread() {
            Some(why) if metadata_document::needs_no_document(id, redirect_uri) => Ok(Client {
                id: id.to_owned(),
                name: None,
                redirect_uris: vec![redirect_uri.as_str().to_owned()],
                source: ClientSource::UnreadDocument(why.to_owned()),
            }),
            _ => Err(AuthorizeError::NoDocument { url: id.to_owned(), why: no_document.to_string() }),
        }
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

impl From<&Client> for ClientRow {
    fn from(client: &Client) -> Self {
        let redirect_uris = serde_json::to_string(&client.redirect_uris).expect("strings always serialise");
        Self { id: client.id.clone(), name: client.name.clone(), redirect_uris }
    }
}

impl From<ClientRow> for Client {
    fn from(row: ClientRow) -> Self {
        Self {
            redirect_uris: serde_json::from_str(&row.redirect_uris).unwrap_or_default(),
            id: row.id,
            name: row.name,
            source: ClientSource::Registration,
        }
    }
}

impl Client {
    /// Whether `requested` matches a redirect URI of the client.
    pub(super) fn may_be_answered_at(&self, requested: &RedirectUri) -> bool {
        let mut registered = self.redirect_uris.iter().filter_map(|text| RedirectUri::parse(text).ok());
        registered.any(|registered| registered.admits(requested))
    }
}

impl fmt::Debug for AuthorizationServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuthorizationServer").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
