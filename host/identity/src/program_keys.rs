//! Keys of programs: each acts for the user who has made it, where no person can sign in.
//!
//! ```text
//! kbk_<32 random bytes in base64url>      the database has its SHA-256
//! ```
//!
//! Invariant: a key is good until it expires or is revoked, and not a request longer, whichever process has revoked it: it is
//! looked up for every request.

mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
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
use self::store::{KeyRow, Store};
pub(super) use self::store::{revoke_all_keys, revoke_keys_made_by};
use super::error::invalid;
use super::{AuthError, Caller, Groups, TokenProfile};

/// What every key begins with, so that people and scanners for secrets know one.
const PREFIX: &str = "kbk_";
/// Random bytes of a key.
const SECRET_BYTES: usize = 32;
/// Keys of one user that have not expired.
const MAX_KEYS_OF_USER: i64 = 100;
/// Longest name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// Toolkits that a key may be limited to.
const MAX_TOOLKITS: usize = 100;
/// Longest id of one, in bytes: ids are parts of the names that tools are listed under, and those are not longer.
const MAX_TOOLKIT_ID_BYTES: usize = 128;
/// How exactly the last use is recorded, so that calls seldom write.
const USE_INTERVAL: Duration = Duration::from_mins(1);

/// The keys of all users.
#[derive(Clone, Debug)]
pub struct ProgramKeys {
    store: Store,
    /// Held while a use is recorded: one at a time.
    recording: Arc<Semaphore>,
}

/// A key, as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramKey {
    /// The beginning of the SHA-256 of the key, in hexadecimal.
    pub id: String,
    /// What its user calls it.
    pub name: String,
    /// The OAuth client that it was made with, if by one.
    pub made_by: Option<String>,
    /// The toolkits whose tools it may call, and nothing else; `None` if it may do what its user may.
    pub toolkits: Option<BTreeSet<String>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires, if ever.
    pub expires_at: Option<Timestamp>,
    /// The last request, to the minute.
    pub used_at: Option<Timestamp>,
}

/// A key that is to be made.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// What its user calls it.
    pub name: String,
    /// The OAuth client that makes it, if one does.
    pub made_by: Option<String>,
    /// The toolkits whose tools it may call, and nothing else; `None` if it may do what its user may.
    pub toolkits: Option<BTreeSet<String>>,
    /// When it expires, if ever.
    pub expires_at: Option<Timestamp>,
}

/// Why a key was not made.
#[derive(Debug, Error)]
pub enum KeyError {
    /// What was asked for is not possible; says why.
    #[error("{0}")]
    Refused(String),
    /// The user has a key of this name.
    #[error("you have a key called {0:?} already; revoke it, or choose another name")]
    NameTaken(String),
    /// The user has as many keys as one may.
    #[error("you have as many keys as you may; revoke one")]
    TooMany,
    /// The database failed; the text is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
}

impl ProgramKeys {
    /// The keys in `database` of users of this issuer. Those of another one do not count.
    pub fn new(database: Database, issuer: &str) -> Self {
        Self { store: Store::new(database, issuer.to_owned()), recording: Arc::new(Semaphore::new(1)) }
    }

    /// Makes a key of `user`. It is returned once, and never again.
    pub async fn create(&self, user: &str, new: NewKey) -> Result<(SecretString, ProgramKey), KeyError> {
        let now = Timestamp::now();
        new.check(now)?;
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
        };
        self.store.insert(&row).await?;
        Ok((key, row.into()))
    }

    /// The user's keys that have not expired, the newest first.
    pub async fn of_user(&self, user: &str) -> kitbag_database::Result<Vec<ProgramKey>> {
        let rows = self.store.of_user(user, Timestamp::now().as_millisecond()).await?;
        Ok(rows.into_iter().map(ProgramKey::from).collect())
    }

    /// Revokes a key of the user who acts, by its id. Returns whether there was one.
    pub async fn revoke(&self, by: &Actor, id: &str) -> kitbag_database::Result<bool> {
        for key in self.store.of_user(by.user(), i64::MIN).await? {
            if self::id(&key.digest) == id {
                return self.store.delete(by, &key.digest).await;
            }
        }
        Ok(false)
    }

    /// Whose request it is that comes with this key.
    pub(super) async fn caller(&self, key: &str) -> Result<Arc<Caller>, AuthError> {
        let (digest, now) = (digest(key), Timestamp::now().as_millisecond());
        let found = self.store.find(&digest, now).await.map_err(|cause| {
            error!(%cause, "keys cannot be read");
            AuthError::Unavailable
        })?;
        let row = found.ok_or(invalid("a key that is unknown, expired or revoked"))?;
        let interval = i64::try_from(USE_INTERVAL.as_millis()).unwrap_or(i64::MAX);
        if row.used_at.is_none_or(|used| used < now - interval) {
            self.record_use(digest, now);
        }
        let key = ProgramKey::from(row.clone());
        Ok(Arc::new(Caller {
            user_id: row.user_id,
            profile: TokenProfile::Key,
            client_id: None,
            key_id: Some(key.id.clone()),
            scopes: Vec::new(),
            toolkits: key.toolkits.map(Arc::new),
            groups: Groups::default(),
        }))
    }
}

impl ProgramKeys {
    /// Records when a key was used, in the background: no request waits for it, and any of the next ones may do it.
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

/// Whether a token is a key, good or not.
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

impl From<KeyRow> for ProgramKey {
    fn from(row: KeyRow) -> Self {
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap_or_default();
        Self {
            id: id(&row.digest),
            name: row.name,
            made_by: row.client_id,
            toolkits: row.toolkits.map(|ids| ids.split(' ').map(str::to_owned).collect()),
            created_at: time(row.created_at),
            expires_at: row.expires_at.map(time),
            used_at: row.used_at.map(time),
        }
    }
}

fn digest(key: &str) -> Vec<u8> {
    Sha256::digest(key).to_vec()
}

/// Enough of it to tell a user's keys apart.
fn id(digest: &[u8]) -> String {
    hex::encode(&digest[..8])
}
