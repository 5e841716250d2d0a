//! Signs browsers in to Kitbag's own pages with the external provider: authorization code with PKCE.
//!
//! A sign-in goes `begin → (the provider's page) → finish → confirm → confirm → … → end`.
//!
//! Invariants:
//! - the user of a session comes from an access token that [`Identity`] has verified, like every other token;
//!   ID tokens are not read;
//! - an authorization response is accepted only from the browser that began the sign-in, and only from the
//!   configured issuer (RFC 9207);
//! - a session does not outlive the provider's grant: once its access token has expired, it is renewed before
//!   its next use, and ends if the provider refuses;
//! - a sign-in begins one session, on whichever process;
//! - a refresh token is never used by two requests at once, on however many processes, and its successor is
//!   stored before anything else happens.

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
use tracing::{error, info, warn};
use url::{Url, form_urlencoded};

use self::attempts::Attempts;
use self::client::RegisteredClients;
use self::pending::Pending;
use self::renewal::Renewals;
use super::browser_sessions::BrowserSessions;
use super::browser_sessions::Grant;
use super::client::{
    AuthorizationRequest, AuthorizationServer, Client, ClientError, Code, DEFAULT_SCOPE, ExpectedResponse,
    Http, redeem,
};
use super::error::AuthError;
use super::groups::Groups;
use super::identity::Identity;
use super::local::random_text;
use super::users::Users;

/// Timeout of one request to the provider.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of random bytes in a `state`, and its length in base64url.
const STATE_BYTES: usize = 16;
const STATE_CHARS: usize = (STATE_BYTES * 8).div_ceil(6);
/// Encryption context of refresh tokens in the vault.
const PURPOSE: &str = "refresh token of a browser's session";

/// OAuth client of the pages at the provider.
#[derive(Clone, Debug)]
pub enum WebClient {
    /// Client registered by the operator.
    Named {
        /// Client identifier.
        id: String,
        /// Client secret; `None` for a public client.
        secret: Option<SecretString>,
    },
    /// Client that the server registers itself, once (RFC 7591).
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
    /// URL that the provider tells of logouts.
    logout_uri: String,
    /// Resource indicator of requested tokens (RFC 8707): this server's MCP endpoint.
    resource: String,
    attempts: Attempts,
    renewals: Renewals,
}

/// Redirect of a browser to the provider.
pub struct Departure {
    /// URL of the provider's authorization page.
    pub page: Url,
    /// `state` of the request, which names the cookie: each tab of a browser has a sign-in of its own.
    pub state: String,
    /// Value of the cookie that the callback requires.
    pub cookie: SecretString,
}

/// Result of a successful sign-in.
pub struct Arrival {
    /// User who has signed in.
    pub user: String,
    /// Value of the session cookie.
    pub token: SecretString,
    /// Path to redirect to, from [`ProviderSignIn::begin`].
    pub to: String,
}

/// Outcome of confirming a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// The session is valid; its user has these groups at the provider.
    Valid(Groups),
    /// The session has ended.
    Ended,
}

/// Error of a sign-in or of a session's renewal.
#[derive(Clone, Debug, Error)]
pub enum ProviderError {
    /// The sign-in was not begun in this browser, has expired, or is already completed.
    #[error("no sign-in is pending in this browser")]
    NotPending,
    /// The provider refused, or its response is unusable. The text is shown to the user.
    #[error("{0}")]
    Refused(String),
    /// Rate limit of completed sign-ins per IP address.
    #[error("too many sign-ins from this address; try again in {seconds} s")]
    TooManyAttempts {
        /// Seconds until the next attempt is permitted.
        seconds: u64,
    },
    /// The provider is unreachable or misconfigured, or a retry is not due yet.
    #[error("the provider cannot be reached at the moment")]
    Unavailable,
    /// The database failed.
    #[error("the database failed: {0}")]
    Storage(Arc<DatabaseError>),
}

impl ProviderSignIn {
    /// Path of the redirect URI.
    pub const CALLBACK: &str = "/ui/signin/callback";
    /// Path that the provider tells of logouts.
    pub const BACKCHANNEL_LOGOUT: &str = "/ui/signin/backchannel-logout";
    /// Maximum time between [`begin`](Self::begin) and [`finish`](Self::finish).
    pub const PENDING_LIFETIME: Duration = Duration::from_mins(10);

    /// Creates the sign-in of the server at `base_url`, which has no trailing slash.
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
            logout_uri: format!("{base_url}{}", Self::BACKCHANNEL_LOGOUT),
            resource: format!("{base_url}/mcp"),
            attempts: Attempts::new(),
            renewals: Renewals::default(),
        }
    }

    /// Revokes the refresh tokens of a user's sessions at the provider when the user's access is ended.
    pub fn revoke_when_ended(self: &Arc<Self>, users: &Users) {
        let this = Arc::downgrade(self);
        users.revoke_with(Box::new(move |grants| {
            let Some(this) = this.upgrade() else { return };
            let tokens = grants.iter().filter_map(|(id, grant)| this.refresh_token(id, grant)).collect();
            tokio::spawn(async move { this.revoke(tokens).await });
        }));
    }

    /// The provider's issuer identifier.
    pub fn issuer(&self) -> &str {
        self.identity.issuer()
    }

    /// Begins a sign-in. After it, the browser is to be redirected to the path `to`.
    pub async fn begin(&self, to: &str) -> Result<Departure, ProviderError> {
        let server = self.server().await?;
        let client = self.client(&server).await?;
        let state = random_text::<STATE_BYTES>();
        let verifier = random_text::<32>();
        let request = AuthorizationRequest {
            client_id: &client.id,
            redirect_uri: &self.redirect_uri,
            verifier: &verifier,
            state: &state,
        };
        let page = request.page(&server);
        let cookie = Pending::new(state.clone(), verifier, to).seal(&self.vault);
        Ok(Departure { page, state, cookie })
    }

    /// Returns the `state` of an authorization response, if it has the form of one from
    /// [`begin`](Self::begin).
    pub fn state_of(query: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let (_, state) = pairs.find(|(name, _)| name == "state")?;
        Self::is_state(&state).then(|| state.into_owned())
    }

    /// Whether a text has the form of a `state` from [`begin`](Self::begin): it is valid in the name of a
    /// cookie.
    pub fn is_state(text: &str) -> bool {
        text.len() == STATE_CHARS
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    }

    /// Completes a sign-in and begins a session. `query` is the authorization response, `cookie` the value
    /// from the [`Departure`] with the response's [`state`](Self::state_of), `address` the browser's IP address, if known.
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
        let (user, token) = self.redeem(&server, &code, &pending, agent).await?;
        Ok(Arrival { user, token, to: pending.to })
    }

    async fn redeem(
        &self,
        server: &AuthorizationServer,
        code: &str,
        pending: &Pending,
        agent: &str,
    ) -> Result<(String, SecretString), ProviderError> {
        const NO_SUCCESS: &str = "The provider did not complete the sign-in.";
        const NO_TOKEN: &str = "The provider has issued a token that is not one for this server.";

        let client = self.client(server).await?;
        let verifier = &pending.verifier;
        let code = Code { client: &client, redirect_uri: &self.redirect_uri, verifier, value: code };
        let tokens = redeem(&self.http, server, &code).await?.map_err(|refusal| {
            warn!(cause = %refusal.of_sign_in(server), "a sign-in was not completed");
            ProviderError::Refused(NO_SUCCESS.to_owned())
        })?;
        let (caller, expires) = self.identity.verify_issued(&tokens.access_token).await.map_err(|cause| {
            warn!(%cause, "the provider's access token is not one for this server");
            match cause {
                AuthError::Unavailable => ProviderError::Unavailable,
                AuthError::Missing
                | AuthError::Invalid(_)
                | AuthError::Unexpected { .. }
                | AuthError::KeyPaused(_) => ProviderError::Refused(NO_TOKEN.to_owned()),
            }
        })?;
        // Among all processes; recorded only now, so that nobody fills the table without the provider.
        let once = self.vault.spend(&pending.once()).await.map_err(|cause| {
            error!(%cause, "a sign-in was not completed");
            ProviderError::Unavailable
        })?;
        if !once {
            return Err(ProviderError::NotPending);
        }
        let groups = caller.groups.clone();
        let seal = |id: &str| self.grant(id, time(expires), groups, tokens.refresh_token.as_ref());
        let begun = self.sessions.begin_granted(&caller.user_id, agent, pending.began(), seal).await?;
        let Some(token) = begun else {
            info!(
                user.id = caller.user_id,
                "refused a sign-in that began before its user's access was ended"
            );
            self.revoke_now(tokens.refresh_token.clone()).await;
            return Err(ProviderError::NotPending);
        };
        info!(user.id = caller.user_id, "a browser has signed in");
        Ok((caller.user_id.clone(), token))
    }

    /// Builds the grant of the session with this id; encrypts the refresh token.
    fn grant(
        &self,
        id: &str,
        expires_at: Timestamp,
        groups: Groups,
        refresh_token: Option<&SecretString>,
    ) -> Grant {
        let seal = |token| self.vault.seal_value(PURPOSE, id, token);
        Grant { expires_at, groups, refresh_token: refresh_token.map(seal) }
    }

    /// Decrypts the refresh token of the session with this id.
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
                let clients = &self.registered;
                let id =
                    clients.get_or_register(&self.http, server, &self.redirect_uri, &self.logout_uri).await?;
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
    /// Logs an error that only the operator can solve; the user learns only that the sign-in failed.
    fn from(cause: ClientError) -> Self {
        warn!(%cause, hint = cause.hint, "sign-in with the provider does not work");
        Self::Unavailable
    }
}

/// Converts seconds since 1970; saturates at [`Timestamp::MAX`].
fn time(seconds: f64) -> Timestamp {
    #[expect(clippy::cast_possible_truncation, reason = "a cast saturates, and so does the time")]
    Timestamp::from_second(seconds as i64).unwrap_or(Timestamp::MAX)
}
