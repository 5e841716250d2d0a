//! Keys of programs (API keys): each acts for the user who created it, where no person can sign in.
//!
//! ```text
//! kbk_<32 random bytes in base64url>      the database stores the SHA-256 of this text
//! ```
//!
//! Invariant: expiry and revocation take effect at the next request, whichever process revoked the key: keys
//! are looked up for every request, with the last sign-in of their user. So does a changed limit ([`KeyLimits`]).

mod store;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use kitbag_base::sha256::Sha256;
use kitbag_database::audit::Actor;
use kitbag_database::{Database, DatabaseError};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;
use tokio::sync::Semaphore;
use tracing::{error, warn};

pub use self::store::revoke_keys_for;
use self::store::{KeyRow, Store, Validity};
pub(super) use self::store::{revoke_all_keys, revoke_keys_made_by, revoke_keys_of};
use super::caller::{Caller, CallerKey, TokenProfile};
use super::error::{AuthError, invalid, shown_time};
use super::groups::Groups;

/// Prefix of every key, recognised by people and secret scanners.
const PREFIX: &str = "kbk_";
/// Number of random bytes in a key.
const SECRET_BYTES: usize = 32;
/// Maximum number of unexpired keys per user.
const MAX_KEYS_OF_USER: i64 = 100;
/// Maximum length of a key's name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// Maximum number of toolkits that a key may be limited to.
const MAX_TOOLKITS: usize = 100;
/// Maximum length of a toolkit id, in bytes: the limit of tool names, which contain the id.
const MAX_TOOLKIT_ID_BYTES: usize = 128;
/// Resolution of the recorded last use: at most one write per key and minute.
const USE_INTERVAL: Duration = Duration::from_mins(1);

/// How long keys are valid, for all users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyLimits {
    /// Maximum lifetime of a key, also of one that was created when it was longer; `None`: unlimited.
    pub lifetime: Option<Duration>,
    /// Maximum time since the last sign-in of a key's user, or since the key's creation, after which the key is paused
    /// until the next sign-in; `None`: unlimited.
    pub without_sign_in: Option<Duration>,
}

/// Groups that count for keys, which have none of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyGroups {
    /// None.
    #[default]
    None,
    /// Those of the user's last sign-in, for this long after it.
    Remembered(Duration),
    /// Those that the identity provider maintains here (SCIM).
    Provisioned,
}

/// The keys of all users.
#[derive(Clone, Debug)]
pub struct ProgramKeys {
    store: Store,
    limits: KeyLimits,
    groups: KeyGroups,
    /// Limits recording of uses to one at a time.
    recording: Arc<Semaphore>,
}

/// A stored key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramKey {
    /// First 8 bytes of the key's SHA-256, in hexadecimal.
    pub id: String,
    /// Name chosen by the user.
    pub name: String,
    /// The OAuth client that created the key, if any.
    pub made_by: Option<String>,
    /// Toolkits that the key is limited to: it may only call their tools. `None`: all permissions of the
    /// user.
    pub toolkits: Option<BTreeSet<String>>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of expiry, at most the maximum lifetime after creation; `None`: never.
    pub expires_at: Option<Timestamp>,
    /// Time of the last request, to the minute.
    pub used_at: Option<Timestamp>,
    /// Time from which the key is refused until its user signs in again; `None`: never.
    pub pauses_at: Option<Timestamp>,
}

/// Parameters of a key to create.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Name chosen by the user.
    pub name: String,
    /// The OAuth client that creates the key, if any.
    pub made_by: Option<String>,
    /// Toolkits that the key is limited to: it may only call their tools. `None`: all permissions of the
    /// user.
    pub toolkits: Option<BTreeSet<String>>,
    /// Time of expiry; `None`: never.
    pub expires_at: Option<Timestamp>,
}

/// Error of creating a key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// Invalid parameters; the text is the reason.
    #[error("{0}")]
    Refused(String),
    /// The key would outlive the maximum lifetime.
    #[error(
        "a key lasts {} at most here (setting key-lifetime): choose a shorter time, and replace the key before it ends",
        shown_time(*.0)
    )]
    TooLong(Duration),
    /// The user's access was ended meanwhile.
    #[error("your access was ended meanwhile; sign in again")]
    UserEnded,
    /// The user already has a key of this name.
    #[error("you have a key called {0:?} already; revoke it, or choose another name")]
    NameTaken(String),
    /// The user has the maximum number of keys.
    #[error("you have as many keys as you may; revoke one")]
    TooMany,
    /// The database failed; the text is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
}

impl ProgramKeys {
    /// Manages the keys in `database` of this issuer's users. Keys of another issuer's users are invalid.
    pub fn new(database: Database, issuer: &str) -> Self {
        Self {
            store: Store::new(database, issuer.to_owned()),
            limits: KeyLimits::default(),
            groups: KeyGroups::None,
            recording: Arc::new(Semaphore::new(1)),
        }
    }

    /// Limits how long keys are valid; by default they are unlimited.
    #[must_use]
    pub fn limited(self, limits: KeyLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets which groups count for keys; by default none.
    #[must_use]
    pub fn with_groups(self, groups: KeyGroups) -> Self {
        Self { groups, ..self }
    }

    /// Returns the groups that count for keys of a user. They never make an operator.
    pub async fn groups_of(&self, user: &str) -> kitbag_database::Result<Groups> {
        match self.groups {
            KeyGroups::None => Ok(Groups::default()),
            KeyGroups::Provisioned => self.store.provisioned_groups(user).await,
            KeyGroups::Remembered(period) => {
                let since = Timestamp::now().as_millisecond().saturating_sub(milliseconds(period));
                self.store.groups_since(user, since).await
            }
        }
    }

    /// How long keys are valid.
    pub fn limits(&self) -> KeyLimits {
        self.limits
    }

    /// Creates a key for `user`. This is the only time that its secret is returned.
    pub async fn create(&self, user: &str, new: NewKey) -> Result<(SecretString, ProgramKey), KeyError> {
        let now = Timestamp::now();
        new.check(now)?;
        if let Some(longest) = self.limits.lifetime
            && new.expires_at.is_none_or(|end| {
                end.duration_since(now) > longest.try_into().unwrap_or(jiff::SignedDuration::MAX)
            })
        {
            return Err(KeyError::TooLong(longest));
        }
        let mut secret = [0; SECRET_BYTES];
        aws_lc_rs::rand::fill(&mut secret).expect("the system has random numbers");
        let key = SecretString::from(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(secret)));
        let row = KeyRow {
            digest: digest(key.expose_secret()),
            user_id: user.to_owned(),
            name: new.name,
            client_id: new.made_by,
            toolkits: new.toolkits.map(|toolkits| toolkits.into_iter().collect::<Vec<_>>().join(" ")),
            created_at: now.as_millisecond(),
            expires_at: new.expires_at.map(Timestamp::as_millisecond),
            used_at: None,
            signed_in_at: None,
        };
        self.store.insert(&row, self.earliest_creation(now.as_millisecond())).await?;
        Ok((key, self.shown(row)))
    }

    /// Returns the user's unexpired keys, newest first.
    pub async fn of_user(&self, user: &str) -> kitbag_database::Result<Vec<ProgramKey>> {
        let now = Timestamp::now().as_millisecond();
        let rows = self.store.of_user(user, self.valid_at(now)).await?;
        Ok(rows.into_iter().map(|row| self.shown(row)).collect())
    }

    /// Returns the number of unexpired keys of each of these users who has any.
    pub async fn count_of(&self, users: &[&str]) -> kitbag_database::Result<HashMap<String, u64>> {
        let now = Timestamp::now().as_millisecond();
        let counts = self.store.count_of(users, self.valid_at(now)).await?;
        Ok(counts.into_iter().map(|(user, count)| (user, u64::try_from(count).unwrap_or_default())).collect())
    }

    /// Revokes the key with this id if it belongs to the acting user. Returns whether there was one.
    pub async fn revoke(&self, by: &Actor, id: &str) -> kitbag_database::Result<bool> {
        self.revoke_of(by, by.user(), id).await
    }

    /// Revokes the key of `user` with this id; `by` is recorded in the audit log. Returns whether there was one.
    ///
    /// The caller checks that `by` is an operator.
    pub async fn revoke_of(&self, by: &Actor, user: &str, id: &str) -> kitbag_database::Result<bool> {
        for key in self.store.of_user(user, Validity::ANY).await? {
            if self::id(&key.digest) == id {
                return self.store.delete(by, user, &key.digest).await;
            }
        }
        Ok(false)
    }

    /// Returns the caller of a request with this key.
    pub(super) async fn caller(&self, key: &str) -> Result<Arc<Caller>, AuthError> {
        let digest = digest(key);
        let now = Timestamp::now().as_millisecond();
        let found = self.store.find(&digest, self.valid_at(now)).await.map_err(|cause| {
            error!(%cause, "keys cannot be read");
            AuthError::Unavailable
        })?;
        let row = found.ok_or(invalid("a key that is unknown, expired or revoked"))?;
        if let Some(longest) = self.limits.without_sign_in
            && pauses_at(&row, longest) <= now
        {
            return Err(AuthError::KeyPaused(longest));
        }
        let interval = milliseconds(USE_INTERVAL);
        if row.used_at.is_none_or(|used| used < now - interval) {
            self.record_use(digest, now);
        }
        let groups = self.groups_of(&row.user_id).await.map_err(|cause| {
            error!(%cause, "the groups of a key's user cannot be read");
            AuthError::Unavailable
        })?;
        Ok(Arc::new(Caller {
            profile: TokenProfile::Key,
            client_id: None,
            key: Some(CallerKey { id: id(&row.digest), name: row.name }),
            issued_at: row.created_at,
            scopes: Vec::new(),
            toolkits: row.toolkits.as_deref().map(toolkits).map(Arc::new),
            user_id: row.user_id,
            groups,
        }))
    }
}

impl ProgramKeys {
    /// Records the last use of a key in the background. Skipped while another use is being recorded: a later
    /// request records it.
    fn record_use(&self, digest: Vec<u8>, now: i64) {
        let Ok(permit) = self.recording.clone().try_acquire_owned() else { return };
        let store = self.store.clone();
        tokio::spawn(async move {
            if let Err(error) = store.mark_used(&digest, now).await {
                warn!(%error, "the use of a key was not recorded");
            }
            drop(permit);
        });
    }
}

/// Whether a token has the form of a key, valid or not.
pub(super) fn is_key(token: &str) -> bool {
    token.starts_with(PREFIX)
}

impl NewKey {
    fn check(&self, now: Timestamp) -> Result<(), KeyError> {
        let is_id = |id: &String| {
            (1..=MAX_TOOLKIT_ID_BYTES).contains(&id.len())
                && id.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        };
        let why = if self.name.trim().is_empty() || self.name.chars().any(char::is_control) {
            "give the key a name that says which program has it"
        } else if self.name.chars().count() > MAX_NAME_CHARS {
            "the name has more than 100 characters"
        } else if self.toolkits.as_ref().is_some_and(|toolkits| toolkits.len() > MAX_TOOLKITS) {
            "a key is limited to 100 toolkits at most"
        } else if self
            .toolkits
            .as_ref()
            .is_some_and(|toolkits| toolkits.is_empty() || !toolkits.iter().all(is_id))
        {
            "toolkits are named by their ids"
        } else if self.expires_at.is_some_and(|end| end <= now) {
            "the key would have expired already"
        } else {
            return Ok(());
        };
        Err(KeyError::Refused(why.to_owned()))
    }
}

impl ProgramKeys {
    fn shown(&self, row: KeyRow) -> ProgramKey {
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX);
        let longest =
            self.limits.lifetime.map(|longest| row.created_at.saturating_add(milliseconds(longest)));
        let ends = row.expires_at.into_iter().chain(longest).min();
        let pauses_at = self.limits.without_sign_in.map(|longest| time(pauses_at(&row, longest)));
        ProgramKey {
            id: id(&row.digest),
            name: row.name,
            made_by: row.client_id,
            toolkits: row.toolkits.as_deref().map(toolkits),
            created_at: time(row.created_at),
            expires_at: ends.map(time),
            used_at: row.used_at.map(time),
            pauses_at,
        }
    }

    /// Selects the keys that have not expired at `now`.
    fn valid_at(&self, now: i64) -> Validity {
        Validity { expires_after: now, created_after: self.earliest_creation(now) }
    }

    /// Keys created at or before this time have expired at `now`.
    fn earliest_creation(&self, now: i64) -> i64 {
        self.limits.lifetime.map_or(i64::MIN, |longest| now.saturating_sub(milliseconds(longest)))
    }
}

/// Returns the time at which a key pauses unless its user signs in. Whoever creates a key is signed in.
fn pauses_at(key: &KeyRow, longest: Duration) -> i64 {
    let signed_in = key.signed_in_at.unwrap_or(i64::MIN).max(key.created_at);
    signed_in.saturating_add(milliseconds(longest))
}

fn toolkits(ids: &str) -> BTreeSet<String> {
    ids.split(' ').map(str::to_owned).collect()
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn digest(key: &str) -> Vec<u8> {
    Sha256::digest(key).to_vec()
}

/// Id of a key: the first 8 bytes of its digest, in hexadecimal.
fn id(digest: &[u8]) -> String {
    hex::encode(&digest[..8])
}
