//! Users: who has signed in, and whose access an operator has ended.
//!
//! A user is whoever the provider's tokens name (`sub`). The provider decides who may sign in; the table `users`
//! records who did, and from when on earlier tokens of a user are refused (docs/decisions/0099).
//!
//! Invariants:
//! - a token of a user whose access was ended is accepted only if it was issued after that, on every process;
//! - whose access was ended is looked up in memory, in a copy that is as new as the database when a request starts
//!   (docs/decisions/0032);
//! - no request waits for the record of a sign-in, except the first one of a user whose access was ended.

mod ended;
mod recording;
mod store;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::pending;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use kitbag_base::tasks::{Interrupted, to_its_end};
use kitbag_database::audit::Actor;
use kitbag_database::{Database, DatabaseError, Transaction};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tracing::error;

use self::ended::EndedUsers;
use self::recording::Recording;
pub(super) use self::store::is_ended_since;
pub(crate) use self::store::{DEACTIVATED, Ended, Until};
use self::store::{SignIn, Store, UserRow};
use super::browser_sessions::Grant;
use super::caller::{Caller, TokenProfile};
use super::claims::MAX_SUBJECT_BYTES;
use super::groups::Groups;

/// Maximum number of users that [`Users::list`] returns.
pub const MAX_USERS_OF_PAGE: u32 = 1000;

/// All users who have signed in, or whose access was ended. Clones share their state.
#[derive(Clone, Debug)]
pub struct Users(Arc<Parts>);

struct Parts {
    store: Store,
    recording: Recording,
    /// Users whose access was ended.
    ended: ArcSwap<EndedUsers>,
    /// Signals each replacement of `ended`, whatever its cause.
    published: watch::Sender<()>,
    /// Signals each end by this process.
    changed: watch::Sender<()>,
    /// Locked while the copy is read and replaced: an older one must not replace a newer one.
    publishing: Mutex<()>,
    /// Revokes grants of sessions at the provider; unset without one.
    revoke: OnceLock<Revoke>,
}

/// Revokes the provider's grants of sessions, as pairs of session id and grant, in the background.
pub(super) type Revoke = Box<dyn Fn(Vec<(String, Grant)>) + Send + Sync>;

/// A user who has signed in, or whose access was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    /// Id of the user: `sub` of the provider's tokens.
    pub id: String,
    /// First and last sign-in; `None` if the user has not signed in since this server records it.
    pub sign_ins: Option<SignIns>,
    /// The last end of the user's access. The user may have signed in again since: [`KnownUser::is_ended`].
    pub ended: Option<AccessEnd>,
}

/// Sign-ins of a user: tokens of the provider that were accepted, not keys of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIns {
    /// The first one.
    pub first: Timestamp,
    /// The last one, to some minutes.
    pub last: Timestamp,
    /// Groups of the user by the token of the last one.
    pub groups: Groups,
}

/// End of a user's access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessEnd {
    /// Tokens that were issued until then are refused.
    pub at: Timestamp,
    /// Id of the operator; empty for a command on the server's machine, and for the identity provider.
    pub by: String,
}

/// Whether an end of access, in milliseconds since 1970, is that of a user whom the identity provider has deactivated.
pub fn is_deactivation(ended_at: i64) -> bool {
    ended_at == DEACTIVATED
}

/// What was deleted when a user's access was ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedAccess {
    /// Number of keys of programs.
    pub keys: u64,
    /// Number of sessions of browsers.
    pub sessions: u64,
    /// Number of grants of OAuth clients with their refresh tokens (local mode).
    pub clients: u64,
}

/// Refusal of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unadmitted {
    /// The user's access was ended after the credential was issued.
    #[error("the access of the user was ended after this was issued")]
    Ended,
    /// The return of a user whose access was ended cannot be recorded.
    #[error("the sign-in of a user whose access was ended cannot be recorded")]
    Unavailable,
}

/// Error of ending a user's access.
#[derive(Debug, Error)]
pub enum EndUserError {
    /// No user can have this id.
    #[error("the id of a user has from 1 to {MAX_SUBJECT_BYTES} bytes, and no NUL")]
    InvalidId,
    /// The access of the acting user was ended meanwhile.
    #[error("your own access was ended meanwhile")]
    ActorEnded,
    /// The database failed; the cause is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
    /// The act was interrupted.
    #[error("the act was interrupted; try again")]
    Interrupted(#[from] Interrupted),
}

impl Users {
    /// Reads whose access was ended from `database`.
    pub async fn open(database: Database) -> kitbag_database::Result<Self> {
        let store = Store::new(database);
        Ok(Self(Arc::new(Parts {
            ended: ArcSwap::from_pointee(store.ended().await?),
            recording: Recording::new(store.clone()),
            store,
            published: watch::Sender::new(()),
            changed: watch::Sender::new(()),
            publishing: Mutex::new(()),
            revoke: OnceLock::new(),
        })))
    }

    /// Returns known users by id: the first `limit` whose ids come after `after`, byte by byte. At most
    /// [`MAX_USERS_OF_PAGE`].
    pub async fn list(&self, after: &str, limit: u32) -> kitbag_database::Result<Vec<KnownUser>> {
        let rows = self.0.store.list(after, limit.min(MAX_USERS_OF_PAGE)).await?;
        Ok(rows.into_iter().map(KnownUser::from).collect())
    }

    /// Returns a user who has signed in, or whose access was ended.
    pub async fn get(&self, id: &str) -> kitbag_database::Result<Option<KnownUser>> {
        Ok(self.0.store.get(id).await?.map(KnownUser::from))
    }

    /// Ends a user's access on all processes: refuses tokens that were issued until now, and deletes the user's
    /// keys, browser sessions with their grants, and grants of OAuth clients. One audited act, in one
    /// transaction. If the access was ended before and nothing came since, only its time changes, and nothing is
    /// recorded.
    ///
    /// Fails if the access of the acting user was ended meanwhile: of two operators who end each other's, one
    /// does.
    pub async fn end(&self, user: &str, by: &Actor) -> Result<EndedAccess, EndUserError> {
        if user.is_empty() || user.len() > MAX_SUBJECT_BYTES || user.contains('\0') {
            return Err(EndUserError::InvalidId);
        }
        let (this, user, by) = (self.clone(), user.to_owned(), by.clone());
        // Not cancelled with the request: committed, it must take effect in this process, too.
        to_its_end(async move {
            let ended = this.0.store.end(&user, &by).await?;
            Ok(this.apply(&user, ended).await)
        })
        .await?
    }

    /// Ends a user's access in a transaction. After the commit, [`apply`](Self::apply) makes it take effect here.
    pub(crate) async fn end_in(
        &self,
        transaction: &mut Transaction,
        user: &str,
        by: &Actor,
        until: Until,
    ) -> kitbag_database::Result<Ended> {
        self.0.store.end_in(transaction, user, by, until).await
    }

    /// Lets a deactivated user sign in again, in a transaction. After the commit, [`publish`](Self::publish) makes it
    /// take effect here. Returns whether the user was deactivated.
    pub(crate) async fn reactivate_in(
        &self,
        transaction: &mut Transaction,
        user: &str,
        by: &Actor,
    ) -> kitbag_database::Result<bool> {
        self.0.store.reactivate_in(transaction, user, by).await
    }

    /// Makes an end that was committed take effect in this process. Nothing of it can fail: a request that reads other
    /// ends, too, is up to [`catch_up`](Self::catch_up).
    pub(crate) async fn apply(&self, user: &str, ended: Ended) -> EndedAccess {
        self.refuse(user, ended.at).await;
        self.0.changed.send_replace(());
        if let Some(revoke) = self.0.revoke.get() {
            revoke(ended.grants);
        }
        ended.access
    }

    /// Removes what is recorded of a user whose access was ended, except that it was: sign-ins and groups; and replaces the
    /// name of the user who ended that of others. Returns the number of changed rows.
    pub async fn anonymise(&self, user: &str) -> kitbag_database::Result<u64> {
        self.0.store.anonymise(user).await
    }

    /// Admits an authenticated caller to a request, and records the sign-in in the background.
    ///
    /// Refuses a credential that was issued before the user's access was ended. The first later one of such a user
    /// is recorded before it is admitted: from then on the user may have keys again. Everything else is looked up
    /// in memory.
    pub async fn admit(&self, caller: &Caller) -> Result<(), Unadmitted> {
        let end = self.0.ended.load().get(&caller.user_id);
        match end {
            Some(end) if caller.issued_at <= end.at => Err(Unadmitted::Ended),
            // Keys are no sign-ins, and none is created before the return is recorded.
            _ if caller.profile == TokenProfile::Key => Ok(()),
            Some(end) if !end.is_back => self.admit_again(caller).await,
            _ => {
                self.0.recording.note(caller, now());
                Ok(())
            }
        }
    }

    async fn admit_again(&self, caller: &Caller) -> Result<(), Unadmitted> {
        self.0.store.record([&SignIn::of(caller, now())]).await.map_err(|cause| {
            error!(%cause, user.id = caller.user_id, "a sign-in after the end of a user's access is not recorded");
            Unadmitted::Unavailable
        })?;
        self.0.recording.remember(caller);
        let _publishing = self.0.publishing.lock().await;
        let ended = self.0.ended.load();
        // The access may have been ended again meanwhile.
        if ended.get(&caller.user_id).is_some_and(|end| caller.issued_at <= end.at) {
            return Err(Unadmitted::Ended);
        }
        self.0.ended.store(Arc::new(ended.with_return_of(&caller.user_id)));
        Ok(())
    }

    /// Waits until the access of this caller is ended.
    pub async fn until_ended(&self, caller: &Caller) {
        let mut published = self.0.published.subscribe();
        while !self.were_ended_since(&caller.user_id, caller.issued_at) {
            if published.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// Whether a user's access was ended at or after `since`, in milliseconds since 1970. Looked up in memory.
    pub fn were_ended_since(&self, user: &str, since: i64) -> bool {
        self.0.ended.load().get(user).is_some_and(|end| since <= end.at)
    }

    /// Whether anybody waits for an end: [`until_ended`](Self::until_ended).
    pub fn are_followed(&self) -> bool {
        self.0.published.receiver_count() > 0
    }

    /// Returns a receiver that is notified when this process ends the access of a user.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// Sets how grants of sessions are revoked at the provider.
    pub(super) fn revoke_with(&self, revoke: Revoke) {
        // Set once, at the start.
        let _ = self.0.revoke.set(revoke);
    }

    /// Reads whose access was ended again, unless the copy is of this number of ends.
    pub async fn catch_up(&self, number_of_ends: i64) -> kitbag_database::Result<()> {
        if self.0.ended.load().is_of(number_of_ends) { Ok(()) } else { self.publish().await }
    }

    /// Adds an end that is stored to the copy, which stays of the same number of ends: others may have come meanwhile.
    async fn refuse(&self, user: &str, at: i64) {
        let _publishing = self.0.publishing.lock().await;
        let ended = self.0.ended.load().with_end_of(user, at);
        self.0.ended.store(Arc::new(ended));
        self.0.published.send_replace(());
    }

    /// Reads again whose access was ended.
    pub async fn publish(&self) -> kitbag_database::Result<()> {
        let _publishing = self.0.publishing.lock().await;
        self.0.ended.store(Arc::new(self.0.store.ended().await?));
        self.0.published.send_replace(());
        Ok(())
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Users").field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// Current time in milliseconds since 1970.
fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

impl KnownUser {
    /// Whether the user's access was ended, and the user has not signed in since.
    pub fn is_ended(&self) -> bool {
        let is_after =
            |end: &AccessEnd| self.sign_ins.as_ref().is_none_or(|sign_ins| sign_ins.last <= end.at);
        self.ended.as_ref().is_some_and(is_after)
    }
}

impl From<UserRow> for KnownUser {
    fn from(row: UserRow) -> Self {
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX);
        let groups = serde_json::from_str(&row.groups).unwrap_or_default();
        let times = row.first_seen_at.zip(row.signed_in_at);
        let ended = row.ended_at.zip(row.ended_by);
        Self {
            id: row.user_id,
            sign_ins: times.map(|(first, last)| SignIns { first: time(first), last: time(last), groups }),
            ended: ended.map(|(at, by)| AccessEnd { at: time(at), by }),
        }
    }
}
