//! What a user has agreed to that a toolkit reaches.

use std::time::Duration;

use kitbag_toolkits::{Consent, FirstAct, Reach, ReachItem, Vouch};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::{AccessError, User, VisibleToolkit};

/// How often a call that waits for a consent looks whether it is given.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What a user has agreed to of a toolkit, compared with what it reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentStatus {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Its live version.
    pub version: String,
    /// SHA-256 of what it reaches, hexadecimal, which the user agrees to.
    pub digest: String,
    /// Whether calls of the user are refused until they agree.
    pub waiting: bool,
    /// The version that was live when the user agreed; absent if they have never given it anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed_version: Option<String>,
    /// When the user agreed: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed_at: Option<String>,
    /// What it reaches beyond what the user has agreed to.
    pub new: Vec<ReachItem>,
    /// What the user has agreed to and it no longer reaches.
    pub gone: Vec<ReachItem>,
    /// The operator who vouches for the version, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Vouch>,
}

impl VisibleToolkit {
    /// What the user has agreed to.
    pub async fn consent(&self) -> Result<ConsentStatus, AccessError> {
        let (toolkits, live) = (&self.user.stores().toolkits, self.live());
        let consent = toolkits.consent(self.user.id(), live).await?;
        let new = consent.as_ref().map(|consent| consent.beyond(live)).unwrap_or_default();
        // Who has only called it has agreed to nothing; what it reached then is compared all the same.
        let is_shown = |consent: &Consent| consent.has_given || !new.is_empty();
        let consent = consent.filter(is_shown);
        let agreed = consent.as_ref().map(|consent| &consent.reach);
        let mut gone = agreed.map(|agreed| agreed.beyond(&live.reach)).unwrap_or_default();
        // The former owner is named with the new one.
        if live.reach.owner() != agreed.map_or(live.reach.owner(), Reach::owner) {
            gone.remove(0);
        }
        Ok(ConsentStatus {
            toolkit: self.definition().id.clone(),
            version: self.definition().version.clone(),
            digest: live.reach.digest(),
            waiting: !new.is_empty() && toolkits.asks_for(live),
            agreed_version: consent.as_ref().map(|consent| consent.version.clone()),
            agreed_at: consent.map(|consent| consent.agreed_at),
            new,
            gone,
            vouched: live.vouch.clone(),
        })
    }

    /// Agrees to what the toolkit reaches, if that has the digest that the user was shown. Less than the user has agreed to
    /// is nothing to agree to, and changes nothing.
    pub async fn agree(&self, digest: &str) -> Result<(), AccessError> {
        if self.user.is_program() {
            return Err(AccessError::ProgramsCannotAgree);
        }
        let (toolkits, live) = (&self.user.stores().toolkits, self.live());
        if live.reach.digest() != digest {
            return Err(AccessError::ReachChanged(self.definition().id.clone()));
        }
        let consent = toolkits.consent(self.user.id(), live).await?;
        if consent.is_some_and(|it| it.has_given && it.beyond(live).is_empty()) {
            return Ok(());
        }
        self.user.stores().disk.room_for_a_little()?;
        Ok(toolkits.agree(&self.user.actor(), live).await?)
    }

    /// Stores that a user who gives the toolkit something agrees to what it reaches, unless they have agreed before. Returns
    /// whether that is stored: the version must still be live.
    pub(super) async fn agree_first(&self) -> Result<bool, AccessError> {
        let live = self.live();
        Ok(self.user.stores().toolkits.agree_first(self.user.id(), live, &live.reach, FirstAct::Gift).await?)
    }
}

impl User {
    /// Waits until the user has agreed to what a toolkit reaches, on whichever process.
    pub async fn until_agreed(&self, toolkit: &str) -> Result<(), AccessError> {
        while self.toolkit(toolkit)?.consent().await?.waiting {
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }
}
