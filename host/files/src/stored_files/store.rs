//! All SQL about the references of rows to files.
//!
//! Backups are restored before their database is migrated: these statements have to work for every schema.

use kitbag_database::{Database, Transaction, sql};

use super::{FileKind, Named};

/// Number of rows of a page.
const PAGE_ROWS: i64 = 1000;

pub(super) async fn named_after(
    transaction: &mut Transaction,
    kind: FileKind,
    after: &str,
) -> kitbag_database::Result<Vec<Named>> {
    let statement = match kind {
        FileKind::Component => sql("SELECT named.digest, files.object
             FROM (SELECT digest FROM toolkit_versions UNION SELECT digest FROM toolkit_uploads) AS named
             LEFT JOIN files ON files.name = 'components/' || named.digest AND NOT files.dropped
             WHERE named.digest > $1 ORDER BY named.digest LIMIT $2"),
        FileKind::Artifact => sql("SELECT named.digest, files.object
             FROM (SELECT DISTINCT artifact AS digest FROM documents
                   WHERE artifact > $1 ORDER BY artifact LIMIT $2) AS named
             LEFT JOIN files ON files.name = 'artifacts/' || named.digest AND NOT files.dropped
             ORDER BY named.digest"),
    };
    let rows: Vec<(String, Option<String>)> =
        statement.bind(after).bind(PAGE_ROWS).fetch_all(transaction).await?;
    Ok(rows.into_iter().map(|(digest, object)| Named { kind, digest, object }).collect())
}

pub(super) async fn is_named(
    transaction: &mut Transaction,
    kind: FileKind,
    digest: &str,
) -> kitbag_database::Result<bool> {
    let named = match kind {
        FileKind::Component => sql("SELECT EXISTS (SELECT 1 FROM toolkit_versions WHERE digest = $1)
                 OR EXISTS (SELECT 1 FROM toolkit_uploads WHERE digest = $1)"),
        FileKind::Artifact => sql("SELECT EXISTS (SELECT 1 FROM documents WHERE artifact = $1)"),
    };
    named.bind(digest).fetch_value(transaction).await
}

pub(super) async fn is_known(transaction: &mut Transaction, object: &str) -> kitbag_database::Result<bool> {
    let known = sql("SELECT EXISTS (SELECT 1 FROM files WHERE object = $1)");
    known.bind(object).fetch_value(transaction).await
}

pub(super) async fn count(transaction: &mut Transaction) -> kitbag_database::Result<u64> {
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
) -> kitbag_database::Result<bool> {
    match kind {
        FileKind::Component => {
            let never = sql("SELECT NOT EXISTS (SELECT 1 FROM toolkit_versions)
                AND NOT EXISTS (SELECT 1 FROM toolkit_uploads)");
            never.fetch_value(transaction).await
        }
        FileKind::Artifact => Database::never_had_rows(transaction, "documents").await,
    }
}
