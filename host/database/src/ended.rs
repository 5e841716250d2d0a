//! Users who were ended by an operator: nothing is stored for them any more.

use super::{DatabaseError, Result, Transaction, sql};

/// Fails if this user was ended, and has not signed in again since.
///
/// A transaction that stores something for a user calls this: whatever began before the end must not store it
/// afterwards. What removes the user's data locks the same [`Scope`](super::Scope) later, so it sees what was stored
/// before.
pub async fn refuse_ended(transaction: &mut Transaction, user: &str) -> Result<()> {
    let is_ended: bool = sql("SELECT EXISTS (SELECT 1 FROM users
                 WHERE user_id = $1 AND ended_at IS NOT NULL AND COALESCE(signed_in_at, 0) <= ended_at)")
    .bind(user)
    .fetch_value(transaction)
    .await?;
    if is_ended { Err(DatabaseError::user_ended()) } else { Ok(()) }
}
