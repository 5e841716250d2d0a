//! Signs browsers in to Kitbag's own pages with the external provider: authorization code with PKCE.
//!
//! A sign-in goes `begin → (the provider's page) → finish → confirm → confirm → … → end`.
//!
//! Invariants:
//! - whose session it is follows from an access token that [`Identity`] has verified, like every other token; no ID
//!   token is read;
//! - a response counts only in the browser that asked, and only from the configured issuer (RFC 9207);
//! - a session does not outlive what the provider grants: it is renewed before it is used after its access token has
//!   expired, and ends if the provider refuses;
//! - a refresh token is presented once at a time, and its successor is stored before anything else happens.

mod attempts;
mod client;
mod ending;
mod pending;
mod renewal;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::{Database, DatabaseError};
use kitbag_net::egress::Egress;
use kitbag_vault::Vault;
use secrecy::SecretString;
use thiserror::Error;
use tracing::{info, warn};
use url::Url;

use self::attempts::Attempts;
use self::client::RegisteredClients;
use self::pending::Pending;
use self::renewal::Renewals;
use super::browser_sessions::Grant;
use super::client::{
    AuthorizationRequest, AuthorizationServer, Client, ClientError, Code, DEFAULT_SCOPE, ExpectedResponse,
    Http, redeem,
};
use super::{AuthError, BrowserSessions, Groups, Identity, random_text};

/// How long the provider may take to answer.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(10);
/// What sealed refresh tokens are for.
const PURPOSE: &str = "refresh token of a browser's session";

/// The client that the pages are at the provider.
#[derive(Clone, Debug)]
pub enum WebClient {
    /// One that the operator has registered.
    Named {
        /// Its identifier.
        id: String,
        /// Its secret, unless it is public.
        secret: Option<SecretString>,
    },
    /// One that registers itself, once (RFC 7591).
    Registers,
}

/// Signs browsers in and out, and renews their sessions.
pub struct ProviderSignIn {
    http: Http,
    identity: Arc<Identity>,
    sessions: Arc<BrowserSessions>,
    vault: Arc<Vault>,
    client: WebClient,
    registered: RegisteredClients,
    redirect_uri: String,
    /// The resource that tokens are asked for: this server's MCP endpoint.
    resource: String,
    attempts: Attempts,
    renewals: Renewals,
}

/// A browser that goes to the provider.
pub struct Departure {
    /// The provider's page.
    pub page: Url,
    /// The value of the cookie that the browser has to bring back.
    pub cookie: SecretString,
}

/// A browser that has signed in.
pub struct Arrival {
    /// The value of its session's cookie.
    pub token: SecretString,
    /// Where it wanted to go.
    pub to: String,
}

/// Whether a session goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// The provider has confirmed it, and named these groups of its user.
    Valid(Groups),
    /// It is over.
    Ended,
}

/// Why a sign-in or a renewal did not succeed.
#[derive(Clone, Debug, Error)]
pub enum ProviderError {
    /// This browser has not asked for this sign-in, or too long ago.
    #[error("no sign-in is pending in this browser")]
    NotPending,
    /// The provider refused, or its answer cannot be used. The text is for the person.
    #[error("{0}")]
    Refused(String),
    /// Too many sign-ins of the browser's address have been ended of late.
    #[error("too many sign-ins from this address; try again in {seconds} s")]
    TooManyAttempts {
        /// Until the next one may be ended.
        seconds: u64,
    },
    /// The provider does not answer, or has to be asked later.
    #[error("the provider cannot be reached at the moment")]
    Unavailable,
    /// The database failed.
    #[error("the database failed: {0}")]
    Storage(Arc<DatabaseError>),
}

impl ProviderSignIn {
    /// The path of the page that the provider sends browsers back to.
    pub const CALLBACK: &str = "/ui/signin/callback";
    /// How long a person may take.
    pub const PENDING_LIFETIME: Duration = Duration::from_mins(10);

    /// Signs in to the server at `base_url`, which has no trailing slash.
    pub fn new(
        identity: Arc<Identity>,
        sessions: Arc<BrowserSessions>,
        vault: Arc<Vault>,
        database: Database,
        egress: Egress,
        client: WebClient,
        base_url: &str,
    ) -> Self {
        Self {
            http: Http::through(egress, PROVIDER_TIMEOUT),
            identity,
            sessions,
            vault,
            client,
            registered: RegisteredClients::new(database),
            redirect_uri: format!("{base_url}{}", Self::CALLBACK),
            resource: format!("{base_url}/mcp"),
            attempts: Attempts::new(),
            renewals: Renewals::default(),
        }
    }

    /// The provider's issuer identifier.
    pub fn issuer(&self) -> &str {
        self.identity.issuer()
    }

    /// Sends a browser to the provider, which then goes to the path `to`.
    pub async fn begin(&self, to: &str) -> Result<Departure, ProviderError> {
        let server = self.server().await?;
        let client = self.client(&server).await?;
        let (state, verifier) = (random_text::<16>(), random_text::<32>());
        let request = AuthorizationRequest {
            client_id: &client.id,
            redirect_uri: &self.redirect_uri,
            verifier: &verifier,
            state: &state,
        };
        let page = request.page(&server);
        Ok(Departure { page, cookie: Pending::new(state, verifier, to).seal(&self.vault) })
    }

    /// Begins the session of a browser that comes back with the response `query`, and with the cookie that it was given.
    /// `address` is the browser's, if it is known.
    pub async fn finish(
        &self,
        cookie: Option<&str>,
        query: &str,
        agent: &str,
        address: Option<IpAddr>,
    ) -> Result<Arrival, ProviderError> {
        let pending =
            cookie.and_then(|cookie| Pending::open(&self.vault, cookie)).ok_or(ProviderError::NotPending)?;
        let server = self.server().await?;
        let expected = ExpectedResponse {
            state: pending.state.clone(),
            issuer: server.issuer.clone(),
            names_itself: server.names_itself,
        };
        let response = expected.judge(query).ok_or(ProviderError::NotPending)?;
        let code = response.map_err(|error| ProviderError::Refused(error.message))?;
        self.attempts.spend(&pending.state)?;
        let _turn = self.attempts.turn(address).await?;
        let token = self.redeem(&server, &code, &pending.verifier, agent).await?;
        Ok(Arrival { token, to: pending.to })
    }

    async fn redeem(
        &self,
        server: &AuthorizationServer,
        code: &str,
        verifier: &str,
        agent: &str,
    ) -> Result<SecretString, ProviderError> {
        const NO_SUCCESS: &str = "The provider did not complete the sign-in.";
        const NO_TOKEN: &str = "The provider has issued a token that is not one for this server.";

        let client = self.client(server).await?;
        let code = Code { client: &client, redirect_uri: &self.redirect_uri, verifier, value: code };
        let tokens = redeem(&self.http, server, &code).await.map_err(|cause| {
            warn!(%cause, "a sign-in was not completed");
            ProviderError::Refused(NO_SUCCESS.to_owned())
        })?;
        let (caller, expires) = self.identity.verify_issued(&tokens.access_token).await.map_err(|cause| {
            warn!(%cause, "the provider's access token is not one for this server");
            match cause {
                AuthError::Unavailable => ProviderError::Unavailable,
                AuthError::Missing | AuthError::Invalid(_) | AuthError::Unexpected { .. } => {
                    ProviderError::Refused(NO_TOKEN.to_owned())
                }
            }
        })?;
        let granted = (time(expires), caller.groups.clone());
        let seal = |id: &str| self.grant(id, granted, tokens.refresh_token.as_ref());
        let token = self.sessions.begin_granted(&caller.user_id, agent, seal).await?;
        info!(user.id = caller.user_id, "a browser has signed in");
        Ok(token)
    }

    /// What the provider grants for the session with this id: until when, and with which groups.
    fn grant(
        &self,
        id: &str,
        (expires_at, groups): (Timestamp, Groups),
        refresh_token: Option<&SecretString>,
    ) -> Grant {
        let seal = |token| self.vault.seal_value(PURPOSE, id, token);
        Grant { expires_at, groups, refresh_token: refresh_token.map(seal) }
    }

    /// The refresh token of the session with this id.
    fn refresh_token(&self, id: &str, grant: &Grant) -> Option<SecretString> {
        self.vault.open_value(PURPOSE, id, grant.refresh_token.as_ref()?)
    }

    async fn server(&self) -> Result<AuthorizationServer, ProviderError> {
        let metadata = self.identity.authorization_server_metadata().await;
        let metadata = metadata.map_err(|_unreachable| ProviderError::Unavailable)?;
        let server =
            AuthorizationServer::of_issuer(self.issuer(), &metadata, self.resource.clone(), DEFAULT_SCOPE);
        Ok(server?)
    }

    async fn client(&self, server: &AuthorizationServer) -> Result<Client, ProviderError> {
        match &self.client {
            WebClient::Named { id, secret } => Ok(server.client(id.clone(), secret.clone())),
            WebClient::Registers => {
                let id = self.registered.get_or_register(&self.http, server, &self.redirect_uri).await?;
                Ok(Client::public(&id))
            }
        }
    }
}

impl From<DatabaseError> for ProviderError {
    fn from(cause: DatabaseError) -> Self {
        Self::Storage(Arc::new(cause))
    }
}

impl From<ClientError> for ProviderError {
    /// For errors that the operator has to solve: the person learns only that it failed.
    fn from(cause: ClientError) -> Self {
        warn!(%cause, hint = cause.hint, "sign-in with the provider does not work");
        Self::Unavailable
    }
}

/// A time in seconds since 1970.
fn time(seconds: f64) -> Timestamp {
    #[expect(clippy::cast_possible_truncation, reason = "a cast saturates, and so does the time")]
    Timestamp::from_second(seconds as i64).unwrap_or(Timestamp::MAX)
}
