//! Deletes cached values of toolkits together with the secrets they were obtained with, or with the master
//! key they are encrypted with.

use kitbag_database::{Database, EVERYONE, Scope, Transaction, sql};

/// Maximum number of values deleted in one transaction.
const BATCH_ROWS: u32 = 500;

/// Deletes the values that a toolkit has cached for a user whose secrets or account for it change, as they
/// were obtained with the old ones. A change of a secret for everyone ([`EVERYONE`]) affects all users.
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

/// Deletes the values that a toolkit has cached for all users, in batches, before a transaction that deletes
/// the remaining ones: this keeps that transaction within the database's time limits.
pub async fn forget_most(database: &Database, toolkit: &str) -> kitbag_database::Result<()> {
    let some = "DELETE FROM cached_values WHERE (user_id, toolkit_id, digest) IN (
        SELECT user_id, toolkit_id, digest FROM cached_values WHERE toolkit_id = $1 LIMIT $2)";
    forget_in_batches(database, some, toolkit).await?;
    Ok(())
}

/// Deletes what all toolkits have cached for a user, in batches. Returns the number of values.
pub(super) async fn forget_user(database: &Database, user: &str) -> kitbag_database::Result<u64> {
    let some = "DELETE FROM cached_values WHERE (user_id, toolkit_id, digest) IN (
        SELECT user_id, toolkit_id, digest FROM cached_values WHERE user_id = $1 LIMIT $2)";
    forget_in_batches(database, some, user).await
}

/// Runs a statement with `whose` and a number of rows, a transaction each, until it deletes fewer. Returns the number of all.
async fn forget_in_batches(
    database: &Database,
    some: &'static str,
    whose: &str,
) -> kitbag_database::Result<u64> {
    let mut all = 0;
    loop {
        let mut transaction = database.begin(Scope::AllCached).await?;
        let removed = sql(some).bind(whose).bind(BATCH_ROWS).execute(&mut transaction).await?;
        transaction.commit().await?;
        all += removed;
        if removed < u64::from(BATCH_ROWS) {
            return Ok(all);
        }
    }
}

/// Deletes all cached values encrypted with another master key than `current`: unlike secrets, they can be
/// obtained again.
pub(super) async fn forget_other_keys(database: &Database, current: &str) -> kitbag_database::Result<()> {
    // In primary key order, so that no batch scans the rows of earlier ones.
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
