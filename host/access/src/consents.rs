//! Users' consents to what toolkits can reach.

use std::time::Duration;

use kitbag_toolkits::{Consent, FirstAct, Reach, ReachItem, Vouch};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::error::AccessError;
use super::toolkits::VisibleToolkit;
use super::user::User;

/// Polling interval of a call that waits for a consent.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A user's consent, compared with the current reach of the toolkit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentStatus {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Live version of the toolkit.
    pub version: String,
    /// SHA-256 of the current reach, hexadecimal; the user agrees to this digest.
    pub digest: String,
    /// Whether calls of the user are refused until they agree.
    pub waiting: bool,
    /// Version that was live when the user agreed; absent without a consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed_version: Option<String>,
    /// Time of the consent: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed_at: Option<String>,
    /// Items of the current reach that the consent does not cover.
    pub new: Vec<ReachItem>,
    /// Items of the consent that the toolkit no longer reaches.
    pub gone: Vec<ReachItem>,
    /// The operator who vouches for the version, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Vouch>,
}

impl VisibleToolkit {
    /// Returns the state of the user's consent.
    pub async fn consent(&self) -> Result<ConsentStatus, AccessError> {
        let consents = &self.user.stores().toolkits.consents;
        let live = self.live();
        let consent = consents.of_user(self.user.id(), live).await?;
        let new = consent.as_ref().map(|consent| consent.beyond(live)).unwrap_or_default();
        // A user who has only called the toolkit has agreed to nothing; its reach at that time is compared
        // nevertheless.
        let is_shown = |consent: &Consent| consent.has_given || !new.is_empty();
        let consent = consent.filter(is_shown);
        let agreed = consent.as_ref().map(|consent| &consent.reach);
        let mut gone = agreed.map(|agreed| agreed.beyond(&live.reach)).unwrap_or_default();
        // The new owner's item also names the former one.
        if live.reach.owner() != agreed.map_or(live.reach.owner(), Reach::owner) {
            gone.remove(0);
        }
        Ok(ConsentStatus {
            toolkit: self.definition().id.clone(),
            version: self.definition().version.clone(),
            digest: live.reach.digest(),
            waiting: !new.is_empty() && consents.asks_for(live),
            agreed_version: consent.as_ref().map(|consent| consent.version.clone()),
            agreed_at: consent.map(|consent| consent.agreed_at),
            new,
            gone,
            vouched: live.vouch.clone(),
        })
    }

    /// Agrees to the current reach, if it has the digest that the user was shown. Changes nothing if an
    /// earlier consent already covers it.
    pub async fn agree(&self, digest: &str) -> Result<(), AccessError> {
        if self.user.is_program() {
            return Err(AccessError::ProgramsCannotAgree);
        }
        let consents = &self.user.stores().toolkits.consents;
        let live = self.live();
        if live.reach.digest() != digest {
            return Err(AccessError::ReachChanged(self.definition().id.clone()));
        }
        let consent = consents.of_user(self.user.id(), live).await?;
        if consent.is_some_and(|it| it.has_given && it.beyond(live).is_empty()) {
            return Ok(());
        }
        self.user.stores().disk.room_for_a_little()?;
        Ok(consents.agree(&self.user.actor(), live).await?)
    }

    /// Stores a consent for a user who gives the toolkit data, unless there is one already. Returns whether
    /// one is stored: a new one is stored only while the version is still live.
    pub(super) async fn agree_first(&self) -> Result<bool, AccessError> {
        let live = self.live();
        Ok(self
            .user
            .stores()
            .toolkits
            .consents
            .agree_first(self.user.id(), live, &live.reach, FirstAct::Gift)
            .await?)
    }
}

impl User {
    /// Waits until the user has agreed to the reach of a toolkit, through any process of the service.
    pub async fn until_agreed(&self, toolkit: &str) -> Result<(), AccessError> {
        while self.toolkit(toolkit)?.consent().await?.waiting {
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }
}
