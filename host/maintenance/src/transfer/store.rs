//! SQL about a whole service.

use std::collections::BTreeSet;

use kitbag_database::{EVERYONE, TABLES, Table, Transaction, sql};
use serde::Serialize;

/// Numbers of items that users and operators have stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Number of documents of all users.
    pub documents: u64,
    /// Number of secrets of all users.
    pub secrets: u64,
    /// Number of deployed versions of toolkits.
    pub toolkit_versions: u64,
    /// Number of call records.
    pub records: u64,
}

/// Counts the contents of a database.
pub(super) async fn counts(transaction: &mut Transaction) -> kitbag_database::Result<Counts> {
    let rows: (i64, i64, i64, i64) =
        sql("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM secrets),
                (SELECT count(*) FROM toolkit_versions), (SELECT count(*) FROM invocations)")
        .unhurried()
        .fetch_one(transaction)
        .await?;
    let [documents, secrets, toolkit_versions, records] =
        [rows.0, rows.1, rows.2, rows.3].map(|count| u64::try_from(count).unwrap_or_default());
    Ok(Counts { documents, secrets, toolkit_versions, records })
}

/// Returns the ids of all users in any row of the tables that `is_included` selects, without the id that stands for
/// everyone.
pub(super) async fn all_users(
    transaction: &mut Transaction,
    is_included: impl Fn(&Table) -> bool,
) -> kitbag_database::Result<BTreeSet<String>> {
    let mut users = BTreeSet::new();
    for table in TABLES.iter().filter(|table| is_included(table)) {
        users.extend(table.users(transaction).await?);
    }
    users.remove(EVERYONE);
    Ok(users)
}
