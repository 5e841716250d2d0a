//! What toolkits have cached goes with the secrets that it was had with, and with the master key that it is sealed with.

use kitbag_database::{Database, EVERYONE, Scope, Transaction, sql};

/// Values that are removed in one transaction.
const BATCH_ROWS: u32 = 500;

/// Removes what a toolkit has cached for a user whose secrets or account for it change: it was had with those before. A
/// secret for everyone is one of each user.
pub(super) async fn forget(
    transaction: &mut Transaction,
    user: &str,
    toolkit: &str,
) -> kitbag_database::Result<()> {
    sql("DELETE FROM cached_values WHERE toolkit_id = $1 AND (user_id = $2 OR $2 = $3)")
        .bind(toolkit)
        .bind(user)
        .bind(EVERYONE)
        .execute(transaction)
        .await?;
    Ok(())
}

/// Removes what a toolkit has cached for all users, in batches, before a transaction that removes what is left: so that no
/// toolkit makes that transaction longer than a database allows.
pub async fn forget_most(database: &Database, toolkit: &str) -> kitbag_database::Result<()> {
    loop {
        let mut transaction = database.begin(Scope::AllCached).await?;
        let removed = sql("DELETE FROM cached_values WHERE (user_id, toolkit_id, digest) IN (
                 SELECT user_id, toolkit_id, digest FROM cached_values WHERE toolkit_id = $1 LIMIT $2)")
        .bind(toolkit)
        .bind(BATCH_ROWS)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        if removed < u64::from(BATCH_ROWS) {
            return Ok(());
        }
    }
}

/// Removes everything that is sealed with another master key than `current`: unlike secrets, it can be had again.
pub(super) async fn forget_other_keys(database: &Database, current: &str) -> kitbag_database::Result<()> {
    // In the order of the primary key, so that no batch passes over the rows of those before.
    let mut after = (String::new(), String::new(), Vec::new());
    loop {
        let mut transaction = database.begin(Scope::AllCached).await?;
        let batch: Vec<(String, String, Vec<u8>)> =
            sql("SELECT user_id, toolkit_id, digest FROM cached_values
             WHERE master_key <> $1 AND (user_id, toolkit_id, digest) > ($2, $3, $4)
             ORDER BY user_id, toolkit_id, digest LIMIT $5")
            .bind(current)
            .bind(&after.0)
            .bind(&after.1)
            .bind(&after.2[..])
            .bind(BATCH_ROWS)
            .fetch_all(&mut transaction)
            .await?;
        let Some(last) = batch.last().cloned() else { return Ok(()) };
        sql("DELETE FROM cached_values WHERE master_key <> $1
             AND (user_id, toolkit_id, digest) > ($2, $3, $4) AND (user_id, toolkit_id, digest) <= ($5, $6, $7)")
        .bind(current)
        .bind(&after.0)
        .bind(&after.1)
        .bind(&after.2[..])
        .bind(&last.0)
        .bind(&last.1)
        .bind(&last.2[..])
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        after = last;
    }
}
