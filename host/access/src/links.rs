//! Links to a page on which a user sets one secret, and calls that wait until it is set.

use std::collections::HashSet;
use std::time::Duration;

use kitbag_database::peers::Hint;
use kitbag_toolkits::Reach;
use kitbag_vault::Link;
use secrecy::SecretString;
use tokio::time::timeout;
use tracing::warn;

use super::Access;
use super::error::AccessError;
use super::secrets::{OwnSecret, SetBy, StoredSecret};
use super::user::User;

/// Polling interval of a call that waits for secrets; a hint from a process ends the wait earlier.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A secret that anyone who has its link may set, for the user who received the link.
#[derive(Clone, Debug)]
pub struct LinkedSecret {
    secret: OwnSecret,
    link: Link,
}

impl LinkedSecret {
    /// The secret.
    pub fn secret(&self) -> &OwnSecret {
        &self.secret
    }

    /// Returns the same link, with the reach that its user was shown.
    #[must_use]
    pub fn seen_with(self, reach: Reach) -> Self {
        Self { secret: self.secret.seen_with(reach), ..self }
    }
}

impl User {
    /// Returns the id of a link to the page of a secret: the existing one, unless it expires soon or may have
    /// been used.
    pub async fn link_to(&self, secret: &OwnSecret) -> Result<SecretString, AccessError> {
        Ok(self.stores().vault.link(secret.slot()).await?)
    }

    /// Waits until these secrets of one toolkit are set, through any process of the service. Calls that start
    /// afterwards see them.
    pub async fn until_set(&self, secrets: &[OwnSecret]) -> Result<(), AccessError> {
        let subjects: HashSet<_> = secrets.iter().map(OwnSecret::subject).collect();
        let mut listening = self.access.hints().listen();
        while !self.are_set(secrets).await? {
            let set = listening.until(|hint| matches!(hint, Hint::Secret(of) if subjects.contains(of)));
            // A timeout is no error: hints may get lost.
            let _ = timeout(POLL_INTERVAL, set).await;
        }
        if self.access.catch_up(self.id()).await.is_err() {
            warn!("a call may miss a secret that was set meanwhile: the database does not answer");
        }
        Ok(())
    }

    async fn are_set(&self, secrets: &[OwnSecret]) -> Result<bool, AccessError> {
        let Some(toolkit) = secrets.first().map(|secret| &secret.slot().toolkit) else { return Ok(true) };
        let set = self.stores().vault.names(self.id(), toolkit).await?;
        Ok(secrets.iter().all(|secret| set.contains(&secret.slot().name)))
    }
}

impl Access {
    /// Returns the secret of a link, if this server created the link for that secret's page, it has not expired,
    /// and the access of its user was not ended since. Needs no database: anyone can send links.
    pub fn linked_secret(&self, link: &str, toolkit: &str, name: &str) -> Option<LinkedSecret> {
        let link = self.stores().vault.open_link(link, toolkit, name)?;
        // A user who is back at once gets links that work after some minutes: links of one period are the same.
        if self.stores().users.were_ended_since(&link.slot().user, link.made_since()) {
            return None;
        }
        Some(LinkedSecret { secret: OwnSecret::of_slot(link.slot().clone()), link })
    }

    /// Whether the link has been used.
    pub async fn is_spent(&self, linked: &LinkedSecret) -> Result<bool, AccessError> {
        Ok(self.stores().vault.is_spent(&linked.link).await?)
    }

    /// Sets a secret by its link. Each link works once.
    pub async fn set_linked_secret(
        &self,
        linked: &LinkedSecret,
        value: &SecretString,
    ) -> Result<StoredSecret, AccessError> {
        self.set_with(&linked.secret, value, SetBy::Link(&linked.link)).await
    }
}
