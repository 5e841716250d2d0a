//! Counters that processes compare before they serve a request, to detect that their copies of the registry
//! or of secrets are outdated.
//!
//! Invariant: every change of the registry, and every deletion of users' secrets, increments a counter here
//! in the same transaction.

use kitbag_database::{Transaction, sql};

/// Counts a change of the live toolkits, their owners, or their displayed properties.
pub(super) async fn count_change(transaction: &mut Transaction) -> kitbag_database::Result<()> {
    sql("UPDATE registry SET generation = generation + 1").execute(transaction).await?;
    Ok(())
}

/// Counts a deletion of users' secrets.
pub(super) async fn count_removal(transaction: &mut Transaction) -> kitbag_database::Result<()> {
    sql("UPDATE registry SET removals = removals + 1").execute(transaction).await?;
    Ok(())
}
