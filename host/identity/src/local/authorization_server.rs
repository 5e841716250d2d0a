//! The endpoints of the local issuer, without their HTTP.
//!
//! A sign-in goes `register → authorize → (a person) → decide → token → token → …`; each step is a
//! file. What must survive a restart is in the database, as SHA-256 where it is a secret; consents
//! that are being asked for, and codes, live for minutes and in memory.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_database::Database;
use kitbag_net::egress::Egress;
use serde_json::Value;

use super::authorize::{AuthorizeError, Pending};
use super::code_check::CodeCheck;
use super::metadata_document::MetadataDocuments;
use super::redirect_uri::RedirectUri;
use super::short_lived::ShortLived;
use super::sign_in_code::SignInCode;
use super::store::{ClientRow, Store};
use super::token::Code;
use super::{ErrorCode, LocalIssuer, OAuthError};

/// Registers clients, asks people, and issues tokens.
pub struct AuthorizationServer {
    pub(super) issuer: Arc<LocalIssuer>,
    pub(super) store: Store,
    pub(super) documents: MetadataDocuments,
    pub(super) lifetimes: Lifetimes,
    /// Requests that a person is looking at.
    pub(super) pending: Mutex<ShortLived<Pending>>,
    /// Who may answer them with a yes.
    pub(super) code_check: Mutex<CodeCheck>,
    /// Held until the grant of a code is stored, so that a replay finds what it must revoke.
    pub(super) codes: tokio::sync::Mutex<ShortLived<Code>>,
}

/// How long things are good.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// A consent page.
    pub consent: Duration,
    /// A code, from the consent to the client's token request.
    pub code: Duration,
    /// An access token.
    pub access_token: Duration,
    /// A refresh token that is not used.
    pub refresh_token: Duration,
    /// A refresh token that was replaced, for clients that share one or lost the answer.
    pub replaced_token: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            consent: Duration::from_mins(10),
            code: Duration::from_mins(2),
            access_token: Duration::from_hours(1),
            refresh_token: Duration::from_hours(24 * 30),
            replaced_token: Duration::from_secs(30),
        }
    }
}

/// A registered client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) redirect_uris: Vec<String>,
}

impl AuthorizationServer {
    /// A server that issues tokens of `issuer` to whoever knows `code`, with its clients and grants in `database`. Documents
    /// of clients are fetched through `egress`.
    pub fn new(
        issuer: Arc<LocalIssuer>,
        code: SignInCode,
        database: Database,
        egress: Egress,
        lifetimes: Lifetimes,
    ) -> Self {
        let (store, documents) = (Store::new(database), MetadataDocuments::new(egress));
        Self {
            issuer,
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

    /// The metadata of this server (RFC 8414).
    pub fn metadata(&self) -> Value {
        let mut metadata = self.issuer.metadata();
        metadata["client_id_metadata_document_supported"] = self.documents.are_offered().into();
        metadata
    }

    /// The client of an id, as it is now: that of a metadata document, or a registered one.
    pub(super) async fn client(&self, id: &str) -> Result<Client, AuthorizeError> {
        if self.documents.is_document(id) {
            let client = self.documents.client(id).await;
            return client
                .map_err(|why| AuthorizeError::NoDocument { url: id.to_owned(), why: why.to_string() });
        }
        self.recorded_client(id).await?.ok_or(AuthorizeError::UnknownClient)
    }

    /// The client of an id that has a grant or a code. Nothing is fetched: pages of every origin may ask for tokens, and
    /// would make this server send requests.
    pub(super) async fn client_of_grant(&self, id: &str) -> kitbag_database::Result<Option<Client>> {
        match self.recorded_client(id).await? {
            Some(client) => Ok(Some(client)),
            None => Ok(self.documents.known_client(id).await),
        }
    }

    async fn recorded_client(&self, id: &str) -> kitbag_database::Result<Option<Client>> {
        Ok(self.store.client(id).await?.map(|row| Client {
            redirect_uris: serde_json::from_str(&row.redirect_uris).unwrap_or_default(),
            id: row.id,
            name: row.name,
        }))
    }

    /// Checks a resource indicator (RFC 8707): a token for another server is not ours to give.
    pub(super) fn check_resource(&self, resource: Option<&str>) -> Result<(), OAuthError> {
        let base_url = self.issuer.issuer();
        let own = resource.is_none_or(|resource| {
            let path = resource.strip_prefix(base_url);
            path.is_some_and(|path| ["", "/", "/mcp"].contains(&path))
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

impl Client {
    /// Whether the client registered this address.
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
