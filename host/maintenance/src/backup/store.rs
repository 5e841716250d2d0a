//! All SQL that counts the contents of a database.

use kitbag_database::{Database, sql};
use kitbag_files::stored_files;

use super::Counts;

/// Counts the contents of a database.
pub(super) async fn counts(database: &Database) -> kitbag_database::Result<Counts> {
    let mut transaction = database.snapshot().await?;
    let rows: (i64, i64, i64, i64) =
        sql("SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM secrets),
                (SELECT count(*) FROM toolkit_versions), (SELECT count(*) FROM invocations)")
        .fetch_one(&mut transaction)
        .await?;
    let [documents, secrets, toolkit_versions, records] =
        [rows.0, rows.1, rows.2, rows.3].map(|count| u64::try_from(count).unwrap_or_default());
    transaction.roll_back().await?;
    let files = stored_files::count(database).await?;
    Ok(Counts { documents, secrets, toolkit_versions, records, files })
}
