//! Links with which a user sets one secret on a page, and calls that wait until it is set.

use std::collections::HashSet;
use std::time::Duration;

use kitbag_database::peers::Hint;
use kitbag_toolkits::Reach;
use kitbag_vault::Link;
use secrecy::SecretString;
use tokio::time::timeout;
use tracing::warn;

use super::secrets::SetBy;
use super::{Access, AccessError, OwnSecret, StoredSecret, User};

/// How often a call that waits for secrets looks whether they are set, unless a process says that one is.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A secret that whoever has a link may set, for the user to whom the link was given.
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

    /// The same link, whose user was shown that the toolkit reaches this.
    #[must_use]
    pub fn seen_with(self, reach: Reach) -> Self {
        Self { secret: self.secret.seen_with(reach), ..self }
    }
}

impl User {
    /// Returns the id of a link to the page of a secret: the one that was given out before, unless it expires soon or may
    /// have been used.
    pub async fn link_to(&self, secret: &OwnSecret) -> Result<SecretString, AccessError> {
        Ok(self.stores().vault.link(secret.slot()).await?)
    }

    /// Waits until these secrets of one toolkit are set, on whichever process. Calls that begin afterwards see them.
    pub async fn until_set(&self, secrets: &[OwnSecret]) -> Result<(), AccessError> {
        let subjects: HashSet<_> = secrets.iter().map(OwnSecret::subject).collect();
        let mut listening = self.access.hints().listen();
        while !self.are_set(secrets).await? {
            let set = listening.until(|hint| matches!(hint, Hint::Secret(of) if subjects.contains(of)));
            // Without a hint it is time to look, too.
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
    /// The secret that a link is for, if this server made the link for the page of that secret and its time is not over.
    /// Asks nobody else: anyone can send links.
    pub fn linked_secret(&self, link: &str, toolkit: &str, name: &str) -> Option<LinkedSecret> {
        let link = self.stores().vault.open_link(link, toolkit, name)?;
        Some(LinkedSecret { secret: OwnSecret::of_slot(link.slot().clone()), link })
    }

    /// Whether the link has set its secret.
    pub async fn is_spent(&self, linked: &LinkedSecret) -> Result<bool, AccessError> {
        Ok(self.stores().vault.is_spent(&linked.link).await?)
    }

    /// Sets a secret, once for each link.
    pub async fn set_linked_secret(
        &self,
        linked: &LinkedSecret,
        value: &SecretString,
    ) -> Result<StoredSecret, AccessError> {
        self.set_with(&linked.secret, value, SetBy::Link(&linked.link)).await
    }
}
