//! What processes compare before they serve a request: whether their copies of the registry and of secrets still hold.
//!
//! Invariant: what changes the registry, or deletes secrets of users, counts it here in the same transaction.

use kitbag_database::{Transaction, sql};

/// Counts a change of what is live, of its owner, or of what is shown of it.
pub(super) async fn count_change(transaction: &mut Transaction) -> kitbag_database::Result<()> {
    sql("UPDATE registry SET generation = generation + 1").execute(transaction).await?;
    Ok(())
}

/// Counts a deletion of secrets of any number of users.
pub(super) async fn count_removal(transaction: &mut Transaction) -> kitbag_database::Result<()> {
    sql("UPDATE registry SET removals = removals + 1").execute(transaction).await?;
    Ok(())
}
