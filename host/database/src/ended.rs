//! Users who were ended by an operator: nothing is stored for them any more.

use super::{Database, DatabaseError, Result, Scope, Transaction, sql};

/// Fails if this user was ended, and has not signed in again since.
///
/// A transaction that stores something for a user calls this: whatever began before the end must not store it
/// afterwards. What removes the user's data calls [`wait_for_writers`] first, so it sees what was stored before.
pub async fn refuse_ended(transaction: &mut Transaction, user: &str) -> Result<()> {
    if is_ended(transaction, user).await? { Err(DatabaseError::user_ended()) } else { Ok(()) }
}

/// Returns whether this user was ended, and has not signed in again since.
pub async fn is_ended(transaction: &mut Transaction, user: &str) -> Result<bool> {
    sql("SELECT EXISTS (SELECT 1 FROM users
             WHERE user_id = $1 AND ended_at IS NOT NULL AND COALESCE(signed_in_at, 0) <= ended_at)")
    .bind(user)
    .fetch_value(transaction)
    .await
}

/// Waits until the transactions that write in this scope have ended.
///
/// What removes the data of a user who was ended calls this before it reads which there is: a transaction that passed
/// [`refuse_ended`] before the end may not be committed yet, and on a server no reader sees it until then. Those that come
/// later are refused. So the transactions that call [`refuse_ended`] have a scope with a lock.
pub async fn wait_for_writers(database: &Database, scope: Scope<'_>) -> Result<()> {
    database.begin(scope).await?.commit().await
}
