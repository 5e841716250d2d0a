//! The reach of toolkits to which users have agreed: stored when a user first gives a toolkit something, and
//! compared before each call.
//!
//! Invariants:
//! - a cached consent only lets a call proceed, and belongs to one live version; a refusal is always based on
//!   a fresh read;
//! - the stored reach is what its user has agreed to, and never more: it does not grow when a version reaches
//!   less, or when an operator vouches for one.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::Actor;
use tracing::{info, warn};

use super::current::CurrentRegistry;
use super::error::ToolkitError;
use super::live::Live;
use super::reach::{Reach, ReachItem};
use super::store::{AgreedReach, ConsentStore, FirstAct, NewConsent, StoredConsent};

/// Consents of users to the reach of toolkits, and the calls that wait for one.
#[derive(Clone)]
pub struct Consents {
    pub(super) store: ConsentStore,
    pub(super) registry: Arc<CurrentRegistry>,
    pub(super) consent_by: ConsentBy,
}

/// The party that consents to a further reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsentBy {
    /// Each user, for their own data.
    #[default]
    Users,
    /// The operators, by making a version live.
    Operators,
}

/// The reach to which a user has agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Reach of the toolkit at that time.
    pub reach: Reach,
    /// Version that was live at that time.
    pub version: String,
    /// Time of the consent: RFC 3339, UTC.
    pub agreed_at: String,
    /// Whether the user has given the toolkit anything. If not, the user has agreed to nothing, and `reach`
    /// is that of the version that was called.
    pub has_given: bool,
}

impl Consent {
    /// Returns the parts of a live version's reach that the user still has to agree to: everything beyond
    /// this consent. If the user has given nothing, that applies only to a version that takes documents with
    /// the next call.
    pub fn beyond(&self, live: &Live) -> Vec<ReachItem> {
        beyond(live, &self.reach, self.has_given)
    }
}

fn beyond(live: &Live, agreed: &Reach, has_given: bool) -> Vec<ReachItem> {
    if has_given || live.reach.has_scopes() { live.reach.beyond(agreed) } else { Vec::new() }
}

impl Consents {
    /// Returns the parts of a live version's reach that the user has to agree to before a call gets any of
    /// their data; empty if the call may proceed. The user's first call of a toolkit is consent to what it
    /// takes with a call, which are documents.
    pub async fn awaited(&self, user: &str, live: &Live) -> Result<Vec<ReachItem>, ToolkitError> {
        let is_noted = live.reach.has_scopes() || self.consent_by == ConsentBy::Users;
        if live.agreed.has(user) || !(is_noted || live.takes_anything()) {
            return Ok(Vec::new());
        }
        let activation = live.agreed.activation();
        let mut consent = self.of_user(user, live).await?;
        if consent.is_none() && is_noted {
            let act = if live.reach.has_scopes() { FirstAct::CallWithDocuments } else { FirstAct::Call };
            if !self.agree_first(user, live, &live.reach, act).await? {
                return Err(ToolkitError::LiveChanged { id: live.definition.id.clone(), live: None });
            }
            // If two first calls race, one of another version may have been stored first.
            consent = self.of_user(user, live).await?;
        }
        let beyond = consent.map(|consent| consent.beyond(live)).unwrap_or_default();
        if beyond.is_empty() || !self.asks_for(live) {
            live.agreed.add(user, activation);
            return Ok(Vec::new());
        }
        Ok(beyond)
    }

    /// Whether calls of a live version wait for the consent of users who have agreed to less.
    pub fn asks_for(&self, live: &Live) -> bool {
        self.consent_by == ConsentBy::Users && live.vouch.is_none() && live.takes_anything()
    }

    /// Returns the user's consent for a toolkit, if there is one.
    pub async fn of_user(&self, user: &str, live: &Live) -> Result<Option<Consent>, ToolkitError> {
        let stored = self.store.of_user(user, &live.definition.id).await?;
        Ok(stored.map(|StoredConsent { owner, reach, version, agreed_at, given }| Consent {
            reach: stored_reach(owner, &reach, live),
            version,
            agreed_at: Timestamp::from_millisecond(agreed_at).unwrap_or_default().to_string(),
            has_given: given != 0,
        }))
    }

    /// Stores that a user agrees by `act` to `reach`, as it was shown to them, unless they have agreed
    /// before. Called before the given data is stored, and has an effect only while `reach` is the toolkit's
    /// reach: a version that becomes live later asks. Returns whether a consent is stored; for a gift,
    /// whether one that covers gifts is.
    pub async fn agree_first(
        &self,
        user: &str,
        live: &Live,
        reach: &Reach,
        act: FirstAct,
    ) -> Result<bool, ToolkitError> {
        let activation = live.agreed.activation();
        if *reach != live.reach {
            let consent = self.of_user(user, live).await?;
            return Ok(consent.is_some_and(|consent| consent.has_given || act != FirstAct::Gift));
        }
        let store = self.store.clone();
        let text = reach.text();
        let owner = reach.owner().to_owned();
        let [user, toolkit, version] =
            [user, &live.definition.id, &live.definition.version].map(str::to_owned);
        to_its_end(async move {
            let consent = NewConsent {
                user: &user,
                toolkit: &toolkit,
                owner: &owner,
                reach: &text,
                version: &version,
                activation,
                act,
            };
            Ok(store.agree_first(consent).await?)
        })
        .await?
    }

    /// Stores that a user agrees to the whole reach of a live version.
    pub async fn agree(&self, by: &Actor, live: &Arc<Live>) -> Result<(), ToolkitError> {
        let store = self.store.clone();
        let by = by.clone();
        let live = live.clone();
        to_its_end(async move {
            let definition = &live.definition;
            let consent = NewConsent {
                user: by.user(),
                toolkit: &definition.id,
                owner: live.reach.owner(),
                reach: &live.reach.text(),
                version: &definition.version,
                activation: live.agreed.activation(),
                act: FirstAct::Gift,
            };
            store.agree(consent, &by).await?;
            info!(user = %by.user(), toolkit.id = %definition.id, toolkit.version = %definition.version, "agreed to a toolkit's reach");
            Ok(())
        })
        .await?
    }

    /// Returns the number of users whose calls of a live version wait for their consent.
    pub async fn waiting(&self, live: &Live) -> Result<u64, ToolkitError> {
        if !self.asks_for(live) {
            return Ok(0);
        }
        let agreed = self.store.agreed_reaches(Some(&live.definition.id)).await?;
        Ok(agreed.iter().map(|agreed| waiting(agreed, live)).sum())
    }

    /// Returns the number of waiting users by toolkit id, without toolkits that have none.
    pub async fn waiting_by_toolkit(&self) -> Result<HashMap<String, u64>, ToolkitError> {
        let registry = self.registry.load();
        let mut all = HashMap::new();
        for agreed in self.store.agreed_reaches(None).await? {
            let live = registry.get(&agreed.toolkit_id).filter(|live| self.asks_for(live));
            let users = live.map_or(0, |live| waiting(&agreed, live));
            if users > 0 {
                *all.entry(agreed.toolkit_id).or_default() += users;
            }
        }
        Ok(all)
    }
}

/// Number of users with this consent who have to agree again.
fn waiting(agreed: &AgreedReach, live: &Live) -> u64 {
    let reach = stored_reach(agreed.owner.clone(), &agreed.reach, live);
    if beyond(live, &reach, agreed.given != 0).is_empty() {
        0
    } else {
        u64::try_from(agreed.users).unwrap_or_default()
    }
}

/// Parses a stored reach. One that cannot be read covers nothing, so its user is asked again.
fn stored_reach(owner: String, text: &str, live: &Live) -> Reach {
    Reach::stored(owner, text).unwrap_or_else(|error| {
        warn!(toolkit.id = %live.definition.id, %error, "a stored reach cannot be read; its users are asked");
        Reach::default()
    })
}
