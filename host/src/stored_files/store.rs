//! All SQL about which files rows refer to.
//!
//! Backups are restored before their database is migrated: these statements have to work for every schema since 16, with
//! which the first backups were made.

use super::FileKind;
use crate::database::{self, Database, Transaction, sql};

/// Names of a page.
const PAGE_ROWS: i64 = 1000;

pub(super) async fn names_after(
    transaction: &mut Transaction,
    kind: FileKind,
    after: &str,
) -> database::Result<Vec<String>> {
    let names = match kind {
        FileKind::Component => sql("SELECT digest FROM
                 (SELECT digest FROM toolkit_versions UNION SELECT digest FROM toolkit_uploads) AS named
             WHERE digest > $1 ORDER BY digest LIMIT $2"),
        FileKind::Artifact => {
            sql("SELECT DISTINCT artifact FROM documents WHERE artifact > $1 ORDER BY artifact LIMIT $2")
        }
    };
    names.bind(after).bind(PAGE_ROWS).fetch_values(transaction).await
}

pub(super) async fn is_named(
    transaction: &mut Transaction,
    kind: FileKind,
    name: &str,
) -> database::Result<bool> {
    let named = match kind {
        FileKind::Component => sql("SELECT EXISTS (SELECT 1 FROM toolkit_versions WHERE digest = $1)
                 OR EXISTS (SELECT 1 FROM toolkit_uploads WHERE digest = $1)"),
        FileKind::Artifact => sql("SELECT EXISTS (SELECT 1 FROM documents WHERE artifact = $1)"),
    };
    named.bind(name).fetch_value(transaction).await
}

pub(super) async fn count(transaction: &mut Transaction) -> database::Result<u64> {
    let count: i64 = sql(
        "SELECT (SELECT count(DISTINCT artifact) FROM documents)
              + (SELECT count(*) FROM
                    (SELECT digest FROM toolkit_versions UNION SELECT digest FROM toolkit_uploads) AS named)",
    )
    .fetch_value(transaction)
    .await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

pub(super) async fn were_never_named(
    transaction: &mut Transaction,
    kind: FileKind,
) -> database::Result<bool> {
    match kind {
        FileKind::Component => {
            let never = sql("SELECT NOT EXISTS (SELECT 1 FROM toolkit_versions)
                AND NOT EXISTS (SELECT 1 FROM toolkit_uploads)");
            never.fetch_value(transaction).await
        }
        FileKind::Artifact => Database::never_had_rows(transaction, "documents").await,
    }
}
