//! Ends sessions on this server, and revokes their refresh tokens at the provider.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kitbag_database::audit::Actor;
use secrecy::SecretString;
use tokio::time::timeout;
use tracing::{debug, info, warn};
use url::Url;

use super::{ProviderError, ProviderSignIn};
use crate::browser_sessions::BrowserSession;
use crate::client::revoke;
use crate::error::{AuthError, invalid};

/// Maximum time that a request waits for the provider's revocation, which then continues in the background.
const REVOCATION_WAIT: Duration = Duration::from_secs(3);

impl ProviderSignIn {
    /// Ends a session, and revokes its refresh token (RFC 7009).
    pub async fn end(self: &Arc<Self>, session: &BrowserSession) -> Result<(), ProviderError> {
        let grant = self.sessions.grant(session).await?;
        self.sessions.end(&Actor::user_only(&session.user), &session.user, &session.id).await?;
        self.revoke(grant.and_then(|grant| self.refresh_token(&session.id, &grant)).into_iter().collect())
            .await;
        Ok(())
    }

    /// Ends a session that another of the same user in the same browser follows. Its refresh token is deleted,
    /// and not revoked: providers may take both sign-ins for one grant, and end it with all its tokens.
    pub async fn end_followed(&self, session: &BrowserSession) -> Result<(), ProviderError> {
        self.sessions.end(&Actor::user_only(&session.user), &session.user, &session.id).await?;
        Ok(())
    }

    /// Ends all sessions of a user, and revokes their refresh tokens.
    pub async fn end_all(self: &Arc<Self>, user: &str) -> Result<(), ProviderError> {
        let grants = self.sessions.grants_of_user(user).await?;
        self.sessions.end_all(user).await?;
        self.revoke(grants.iter().filter_map(|(id, grant)| self.refresh_token(id, grant)).collect()).await;
        Ok(())
    }

    /// Ends the sessions of a user who has signed out at the provider, which says so by a logout token (`OpenID`
    /// Connect Back-Channel Logout 1.0). Sessions that began after the token was issued stay: repeated, it ends nothing.
    pub async fn end_by(self: &Arc<Self>, logout_token: &str) -> Result<(), ProviderError> {
        let refused = |cause: AuthError| match cause {
            AuthError::Unavailable => ProviderError::Unavailable,
            cause => {
                // Anybody can send one.
                debug!(%cause, "refused a logout token");
                ProviderError::Refused("This is no logout token of the provider for this server.".to_owned())
            }
        };
        let logout = self.identity.verify_logout(logout_token).await.map_err(refused)?;
        let server = self.server().await?;
        if !logout.is_for(&self.client(&server).await?.id) {
            return Err(refused(invalid("a logout token for another client")));
        }
        let ended = self.sessions.end_begun_by(&logout.user, logout.begun_by).await?;
        info!(user.id = logout.user, sessions = ended.count, "the provider has signed a user out");
        let tokens = ended.grants.iter().filter_map(|(id, grant)| self.refresh_token(id, grant)).collect();
        self.revoke(tokens).await;
        Ok(())
    }

    /// Returns the provider's logout page, if it has one.
    pub async fn end_session_page(&self) -> Option<Url> {
        let server = self.server().await.ok()?;
        let client = self.client(&server).await.ok()?;
        let mut page = server.end_session_endpoint?;
        page.query_pairs_mut().append_pair("client_id", &client.id);
        Some(page)
    }

    /// Revokes tokens in a background task, and waits for it for at most [`REVOCATION_WAIT`].
    pub(super) async fn revoke(self: &Arc<Self>, refresh_tokens: Vec<SecretString>) {
        if refresh_tokens.is_empty() {
            return;
        }
        let this = self.clone();
        let task = tokio::spawn(async move {
            join_all(refresh_tokens.into_iter().map(|token| this.revoke_now(Some(token)))).await;
        });
        let _ = timeout(REVOCATION_WAIT, task).await;
    }

    pub(super) async fn revoke_now(&self, refresh_token: Option<SecretString>) {
        let Some(refresh_token) = refresh_token else { return };
        let revoked = async {
            let server = self.server().await?;
            let client = self.client(&server).await?;
            let Some(endpoint) = &server.revocation_endpoint else { return Ok(()) };
            Ok::<_, ProviderError>(revoke(&self.http, endpoint, &client, &refresh_token).await?)
        };
        if let Err(cause) = revoked.await {
            warn!(%cause, "the refresh token of a session that has ended may still be valid");
        }
    }
}
