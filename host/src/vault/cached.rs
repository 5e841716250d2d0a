//! What toolkits have cached goes with the secrets that it was had with, and with the master key that it is sealed with.

use crate::database::{self, Database, EVERYONE, Scope, Transaction, sql};

/// Values that are removed in one transaction.
const BATCH_ROWS: u64 = 500;

/// Removes what a toolkit has cached for a user whose secrets or account for it change: it was had with those before. A
/// secret for everyone is one of each user.
pub(super) async fn forget(transaction: &mut Transaction, user: &str, toolkit: &str) -> database::Result<()> {
    sql("DELETE FROM cached_values WHERE toolkit_id = $1 AND (user_id = $2 OR $2 = $3)")
        .bind(toolkit)
        .bind(user)
        .bind(EVERYONE)
        .execute(transaction)
        .await?;
    Ok(())
}

/// Removes everything that is sealed with another master key than `current`: unlike secrets, it can be had again.
pub(super) async fn forget_other_keys(database: &Database, current: &str) -> database::Result<()> {
    loop {
        let mut transaction = database.begin(Scope::AllCached).await?;
        let removed = sql("DELETE FROM cached_values WHERE (user_id, toolkit_id, digest) IN (
                 SELECT user_id, toolkit_id, digest FROM cached_values WHERE master_key <> $1 LIMIT $2)")
        .bind(current)
        .bind(i64::try_from(BATCH_ROWS).unwrap_or(i64::MAX))
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        if removed < BATCH_ROWS {
            return Ok(());
        }
    }
}
