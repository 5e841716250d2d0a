//! All SQL about users. Times are milliseconds since 1970.

use std::collections::HashMap;

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, ERASED_USER, Executor, FromRow, Scope, Transaction, is_ended, sql};

use super::ended::{EndedUser, EndedUsers};
use super::{EndUserError, EndedAccess, now};
use crate::browser_sessions::{Grant, end_sessions_of, grants_of};
use crate::caller::Caller;
use crate::local::revoke_grants_of;
use crate::program_keys::revoke_keys_of;

/// The table of users.
#[derive(Clone, Debug)]
pub(super) struct Store(Database);

#[derive(Clone, Debug, FromRow)]
pub(super) struct UserRow {
    pub(super) user_id: String,
    pub(super) first_seen_at: Option<i64>,
    pub(super) signed_in_at: Option<i64>,
    /// JSON array of group names.
    pub(super) groups: String,
    pub(super) ended_at: Option<i64>,
    pub(super) ended_by: Option<String>,
}

#[derive(FromRow)]
struct EndedRow {
    user_id: String,
    ended_at: i64,
    is_back: bool,
}

/// A token or a session that was accepted.
#[derive(Clone, Debug)]
pub(super) struct SignIn {
    user_id: Box<str>,
    /// JSON array of group names.
    groups: String,
    /// Time at which it was accepted.
    at: i64,
    /// Time at which it was issued: a lower bound.
    issued_at: i64,
}

/// How long the end of an access lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until the user signs in again.
    NextSignIn,
    /// Until the identity provider activates the user again: the user is deactivated.
    Reactivation,
}

/// End of access of a deactivated user, in milliseconds since 1970: the year 9999. No token is issued after it, so
/// whatever compares a token with the end refuses it.
pub(crate) const DEACTIVATED: i64 = 253_370_764_800_000;

/// Result of ending a user's access.
#[must_use = "an end that was committed takes effect in this process by `Users::apply`"]
pub(crate) struct Ended {
    pub(super) access: EndedAccess,
    /// Tokens that were issued until then are refused.
    pub(super) at: i64,
    /// The provider's grants of sessions that were ended, as pairs of session id and grant.
    pub(super) grants: Vec<(String, Grant)>,
}

/// Returns whether a user's access was ended at or after `since`.
pub(crate) async fn is_ended_since(
    executor: impl Into<Executor<'_>>,
    user: &str,
    since: i64,
) -> kitbag_database::Result<bool> {
    sql("SELECT EXISTS (SELECT 1 FROM users WHERE user_id = $1 AND ended_at >= $2)")
        .bind(user)
        .bind(since)
        .fetch_value(executor)
        .await
}

impl SignIn {
    pub(super) fn of(caller: &Caller, now: i64) -> Self {
        Self {
            user_id: caller.user_id.as_str().into(),
            groups: serde_json::to_string(&caller.groups).expect("texts always serialise"),
            // The clock of the process that ended the user's access may be ahead of this one's.
            at: now.max(caller.issued_at),
            issued_at: caller.issued_at,
        }
    }
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    pub(super) async fn list(&self, after: &str, limit: u32) -> kitbag_database::Result<Vec<UserRow>> {
        sql("SELECT user_id, first_seen_at, signed_in_at, groups, ended_at, ended_by FROM users
             WHERE user_id > $1 ORDER BY user_id LIMIT $2")
        .bind(after)
        .bind(limit)
        .fetch_all(self.0.readers())
        .await
    }

    pub(super) async fn get(&self, id: &str) -> kitbag_database::Result<Option<UserRow>> {
        sql("SELECT user_id, first_seen_at, signed_in_at, groups, ended_at, ended_by FROM users
             WHERE user_id = $1")
        .bind(id)
        .fetch_optional(self.0.readers())
        .await
    }

    /// All users whose access was ended.
    pub(super) async fn ended(&self) -> kitbag_database::Result<EndedUsers> {
        let mut snapshot = self.0.snapshot().await?;
        let number = sql("SELECT user_ends FROM registry").fetch_value(&mut snapshot).await?;
        let rows: Vec<EndedRow> =
            sql("SELECT user_id, ended_at, COALESCE(signed_in_at > ended_at, FALSE) AS is_back FROM users
             WHERE ended_at IS NOT NULL")
            .fetch_all(&mut snapshot)
            .await?;
        snapshot.commit().await?;
        let users = rows
            .into_iter()
            .map(|row| (row.user_id.into_boxed_str(), EndedUser { at: row.ended_at, is_back: row.is_back }));
        Ok(EndedUsers::new(number, users.collect::<HashMap<_, _>>()))
    }

    /// Removes sign-ins and groups of a user whose access was ended, and their name from the ends of others.
    pub(super) async fn anonymise(&self, user: &str) -> kitbag_database::Result<u64> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        // Not of a user who has signed in again: they would be ended once more.
        let forgotten = sql("UPDATE users SET first_seen_at = NULL, signed_in_at = NULL, groups = '[]'
             WHERE user_id = $1 AND signed_in_at <= ended_at")
        .bind(user)
        .execute(&mut transaction)
        .await?;
        let replaced = sql("UPDATE users SET ended_by = $2 WHERE ended_by = $1")
            .bind(user)
            .bind(ERASED_USER)
            .execute(&mut transaction)
            .await?;
        let tokens = sql("UPDATE scim_tokens SET created_by = $2 WHERE created_by = $1")
            .bind(user)
            .bind(ERASED_USER)
            .execute(&mut transaction)
            .await?;
        // Not of a user whom the provider has activated, or who has signed in again.
        let provisioned = sql("DELETE FROM scim_users WHERE user_id = $1 AND EXISTS (SELECT 1 FROM users
             WHERE user_id = $1 AND ended_at IS NOT NULL AND COALESCE(signed_in_at, 0) <= ended_at)")
        .bind(user)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(forgotten + replaced + tokens + provisioned)
    }

    /// Records sign-ins, except with tokens that were issued before their user's access was ended.
    pub(super) async fn record(
        &self,
        sign_ins: impl IntoIterator<Item = &SignIn>,
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        for SignIn { user_id, groups, at, issued_at } in sign_ins {
            sql("INSERT INTO users (user_id, first_seen_at, signed_in_at, groups) VALUES ($1, $2, $2, $3)
                 ON CONFLICT (user_id) DO UPDATE SET signed_in_at = excluded.signed_in_at,
                     groups = excluded.groups,
                     first_seen_at = COALESCE(users.first_seen_at, excluded.first_seen_at)
                 WHERE (users.ended_at IS NULL OR users.ended_at < $4)
                     AND (users.signed_in_at IS NULL OR users.signed_in_at <= excluded.signed_in_at)")
            .bind(&**user_id)
            .bind(*at)
            .bind(groups)
            .bind(*issued_at)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await
    }

    /// Ends a user's access.
    pub(super) async fn end(&self, user: &str, by: &Actor) -> Result<Ended, EndUserError> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        if by.user() != user && is_ended(&mut transaction, by.user()).await? {
            return Err(EndUserError::ActorEnded);
        }
        let ended = self.end_in(&mut transaction, user, by, Until::NextSignIn).await?;
        transaction.commit().await?;
        Ok(ended)
    }

    /// Ends a user's access in a transaction, which the caller commits.
    pub(super) async fn end_in(
        &self,
        transaction: &mut Transaction,
        user: &str,
        by: &Actor,
        until: Until,
    ) -> kitbag_database::Result<Ended> {
        let was_ended = match until {
            Until::NextSignIn => is_ended(&mut *transaction, user).await?,
            Until::Reactivation => is_ended_since(&mut *transaction, user, DEACTIVATED).await?,
        };
        let grants = grants_of(transaction, user).await?;
        let access = EndedAccess {
            keys: revoke_keys_of(transaction, user).await?,
            sessions: end_sessions_of(transaction, user).await?,
            // Local sign-in is only for a database that no other process uses: another one has no such table.
            clients: if self.0.is_exclusive() { revoke_grants_of(transaction, user).await? } else { 0 },
        };
        // Tokens that were issued since the last end, and are not used yet, are in no table.
        let is_repeated = was_ended && access == EndedAccess::default();
        if is_repeated && until == Until::Reactivation {
            return Ok(Ended { access, at: DEACTIVATED, grants });
        }
        // Read in the transaction, which may have waited; and never earlier than the last sign-in or the last end, which
        // other processes have recorded by their clocks.
        let at = match until {
            Until::NextSignIn => last_time(&mut *transaction, user).await?.max(now()),
            Until::Reactivation => DEACTIVATED,
        };
        sql("INSERT INTO users (user_id, groups, ended_at, ended_by) VALUES ($1, '[]', $2, $3)
             ON CONFLICT (user_id) DO UPDATE SET
                 ended_by = CASE WHEN $4 THEN users.ended_by ELSE excluded.ended_by END,
                 ended_at = excluded.ended_at")
        .bind(user)
        .bind(at)
        .bind(by.user())
        .bind(is_repeated)
        .execute(&mut *transaction)
        .await?;
        sql("UPDATE registry SET user_ends = user_ends + 1").execute(&mut *transaction).await?;
        if !is_repeated {
            let act = match until {
                Until::NextSignIn => Act::UserEnded,
                Until::Reactivation => Act::UserDeactivated,
            };
            audit::append(transaction, &Entry::new(act, by).affects(user)).await?;
        }
        Ok(Ended { access, at, grants })
    }

    /// Lets a deactivated user sign in again, in a transaction, which the caller commits. Returns whether the user was
    /// deactivated.
    pub(super) async fn reactivate_in(
        &self,
        transaction: &mut Transaction,
        user: &str,
        by: &Actor,
    ) -> kitbag_database::Result<bool> {
        let reactivated = sql("UPDATE users SET ended_at = $2 WHERE user_id = $1 AND ended_at = $3")
            .bind(user)
            .bind(now())
            .bind(DEACTIVATED)
            .execute(&mut *transaction)
            .await?;
        if reactivated > 0 {
            sql("UPDATE registry SET user_ends = user_ends + 1").execute(&mut *transaction).await?;
            audit::append(transaction, &Entry::new(Act::UserReactivated, by).affects(user)).await?;
        }
        Ok(reactivated > 0)
    }
}

/// Time of the last sign-in or the last end of a user, whichever is later.
async fn last_time(transaction: &mut Transaction, user: &str) -> kitbag_database::Result<i64> {
    let times: Option<(Option<i64>, Option<i64>)> =
        sql("SELECT signed_in_at, ended_at FROM users WHERE user_id = $1")
            .bind(user)
            .fetch_optional(transaction)
            .await?;
    let (signed_in_at, ended_at) = times.unwrap_or_default();
    Ok(signed_in_at.max(ended_at).unwrap_or(i64::MIN))
}
