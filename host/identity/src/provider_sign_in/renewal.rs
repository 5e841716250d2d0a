//! Renewal of sessions with an expired access token: concurrent requests of a session share one request to
//! the provider, and processes over one database take turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use kitbag_database::audit::Actor;
use tokio::time::sleep;
use tracing::{info, warn};

use super::{ProviderError, ProviderSignIn, SessionState, time};
use crate::browser_sessions::BrowserSession;
use crate::client::{Tokens, refresh};
use crate::error::AuthError;
use crate::groups::Groups;

/// Maximum time that a request waits for another process that renews its session.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Interval at which it looks whether that process has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

type Outcome = Result<SessionState, ProviderError>;
type UnderWay = HashMap<String, Shared<BoxFuture<'static, Outcome>>>;

/// Renewals in progress, by session id.
#[derive(Default)]
pub(super) struct Renewals(Mutex<UnderWay>);

/// Removes a renewal from [`Renewals`] on drop, also after a panic.
struct Ends(Arc<ProviderSignIn>, String);

impl Renewals {
    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.renewals.lock().remove(&self.1);
    }
}

impl ProviderSignIn {
    /// Checks whether a session is still valid. Renews it if its access token has expired; ends it if the
    /// provider refuses or has issued no refresh token.
    pub async fn confirm(self: &Arc<Self>, session: &BrowserSession) -> Outcome {
        match self.sessions.grant(session).await? {
            // A session from another sign-in method, such as the sign-in code.
            None => Ok(SessionState::Ended),
            Some(grant) if grant.expires_at > Timestamp::now() => Ok(SessionState::Valid(grant.groups)),
            Some(_expired) => self.renew(session).await,
        }
    }

    async fn renew(self: &Arc<Self>, session: &BrowserSession) -> Outcome {
        let renewal = {
            let mut under_way = self.renewals.lock();
            let begin = || {
                let this = self.clone();
                let session = session.clone();
                let ends = Ends(self.clone(), session.id.clone());
                // In a separate task: if the browser disconnects, the new refresh token must still be stored.
                let task = tokio::spawn(async move {
                    let _ends = ends;
                    this.renew_now(&session).await
                });
                task.map(|ended| ended.unwrap_or(Err(ProviderError::Unavailable))).boxed().shared()
            };
            under_way.entry(session.id.clone()).or_insert_with(begin).clone()
        };
        renewal.await
    }

    async fn renew_now(&self, session: &BrowserSession) -> Outcome {
        let until = Instant::now() + MAX_WAIT;
        while !self.sessions.claim_renewal(session).await? {
            // Another process renews it, or the session has ended.
            match self.sessions.grant(session).await? {
                None => return Ok(SessionState::Ended),
                Some(grant) if grant.expires_at > Timestamp::now() => {
                    return Ok(SessionState::Valid(grant.groups));
                }
                Some(_) if Instant::now() > until => return Err(ProviderError::Unavailable),
                Some(_) => sleep(POLL_INTERVAL).await,
            }
        }
        let renewed = self.renew_claimed(session).await;
        self.sessions.release_renewal(session).await?;
        renewed
    }

    async fn renew_claimed(&self, session: &BrowserSession) -> Outcome {
        // Read now: another process may have stored new tokens before this one claimed the renewal.
        let Some(grant) = self.sessions.grant(session).await? else { return Ok(SessionState::Ended) };
        if grant.expires_at > Timestamp::now() {
            return Ok(SessionState::Valid(grant.groups));
        }
        let Some(refresh_token) = self.refresh_token(&session.id, &grant) else {
            return self.end_expired(session, "it cannot be renewed").await;
        };
        let server = self.server().await?;
        let client = self.client(&server).await?;
        let renewed =
            refresh(&self.http, &server.token_endpoint, &client, &server.resource, &refresh_token).await?;
        match renewed {
            Ok(tokens) => {
                let refresh_token = tokens.refresh_token.clone().unwrap_or(refresh_token);
                self.accept(session, Tokens { refresh_token: Some(refresh_token), ..tokens }).await
            }
            Err(refusal) => self.end_expired(session, &refusal.to_string()).await,
        }
    }

    /// Stores the renewed grant of a session if it is for the same user; otherwise ends the session.
    async fn accept(&self, session: &BrowserSession, tokens: Tokens) -> Outcome {
        let verified = self.identity.verify_issued(&tokens.access_token).await;
        let (expires_at, groups, state) = match verified {
            Ok((caller, expires)) if caller.user_id == session.user => {
                let groups = caller.groups.clone();
                (time(expires), groups.clone(), Ok(SessionState::Valid(groups)))
            }
            // Store the new refresh token; the grant is already expired, so the next request renews it.
            Err(AuthError::Unavailable) => {
                (Timestamp::UNIX_EPOCH, Groups::default(), Err(ProviderError::Unavailable))
            }
            Ok(_) => return self.end_expired(session, "the provider's token is another user's").await,
            Err(cause) => return self.end_expired(session, &cause.to_string()).await,
        };
        let refresh_token = tokens.refresh_token;
        let grant = self.grant(&session.id, expires_at, groups, refresh_token.as_ref());
        if self.sessions.replace_grant(session, grant).await? {
            return state;
        }
        // The session ended during the renewal.
        self.revoke_now(refresh_token).await;
        Ok(SessionState::Ended)
    }

    async fn end_expired(&self, session: &BrowserSession, reason: &str) -> Outcome {
        info!(user.id = session.user, reason, "the session of a browser has ended");
        if let Err(cause) = self.sessions.end(&Actor::server(), &session.user, &session.id).await {
            warn!(%cause, "a session that has ended was not removed");
            return Err(cause.into());
        }
        Ok(SessionState::Ended)
    }
}
