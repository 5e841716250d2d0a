//! SQL about a whole service.

use std::collections::BTreeSet;

use kitbag_database::{EVERYONE, TABLES, Transaction, sql};
use serde::Serialize;

/// How much there is of what users and operators have stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Documents of all users.
    pub documents: u64,
    /// Secrets of all users.
    pub secrets: u64,
    /// Deployed versions of toolkits.
    pub toolkit_versions: u64,
    /// Records of calls.
    pub records: u64,
}

/// Counts what is in a database.
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

/// The ids of all users that any row names. What is for everyone names none.
pub(super) async fn all_users(transaction: &mut Transaction) -> kitbag_database::Result<BTreeSet<String>> {
    let mut users = BTreeSet::new();
    for table in TABLES {
        users.extend(table.users(transaction).await?);
    }
    users.remove(EVERYONE);
    Ok(users)
}
