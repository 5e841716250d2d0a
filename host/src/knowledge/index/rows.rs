//! What an index reads from the database, in pages: a connection is never kept for long.

use std::collections::HashSet;

use sqlx::SqlitePool;

use super::Row;

/// Rows of a page: some megabytes.
pub(super) const PAGE: usize = 1024;

/// Ids of a page.
const LIVE_PAGE: i64 = 20_000;

/// Before every row.
pub(super) const BEGINNING: End = (i64::MIN, i64::MIN);

/// How often a user's chunks have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) revision: i64,
    pub(super) removals: i64,
}

/// Where a page ended: revision and id of its last row.
pub(super) type End = (i64, i64);

/// The user's revision now.
pub(super) async fn revision(readers: &SqlitePool, user_id: &str) -> sqlx::Result<Revision> {
    let found: Option<(i64, i64)> =
        sqlx::query_as("SELECT revision, removals FROM knowledge_revisions WHERE user_id = ?")
            .bind(user_id)
            .fetch_optional(readers)
            .await?;
    Ok(found.map(|(revision, removals)| Revision { revision, removals }).unwrap_or_default())
}

/// The user's next chunks in the order of their revisions, with vectors of this model, and where the page
/// ends; no end where there are none.
pub(super) async fn page(
    readers: &SqlitePool,
    user_id: &str,
    model: Option<&str>,
    after: End,
) -> sqlx::Result<(Vec<Row>, Option<End>)> {
    type Columns = (i64, i64, i64, Vec<u8>, Option<Vec<u8>>);
    let rows: Vec<Columns> = sqlx::query_as(
        "SELECT id, revision, document, terms, CASE WHEN model = ?2 THEN vector END FROM chunks
         WHERE user_id = ?1 AND (revision, id) > (?3, ?4) ORDER BY revision, id LIMIT ?5",
    )
    .bind(user_id)
    .bind(model)
    .bind(after.0)
    .bind(after.1)
    .bind(i64::try_from(PAGE).expect("it is small"))
    .fetch_all(readers)
    .await?;
    let end = rows.last().map(|(id, revision, ..)| (*revision, *id));
    let row = |(id, _, document, terms, vector)| Row { id, document, terms, vector };
    Ok((rows.into_iter().map(row).collect(), end))
}

/// The ids of all the user's chunks.
pub(super) async fn live(readers: &SqlitePool, user_id: &str) -> sqlx::Result<HashSet<i64>> {
    let mut live = HashSet::new();
    // A chunk that gets another revision meanwhile comes later, and is not missed.
    let mut after: End = BEGINNING;
    loop {
        let ends: Vec<End> = sqlx::query_as(
            "SELECT revision, id FROM chunks
             WHERE user_id = ?1 AND (revision, id) > (?2, ?3) ORDER BY revision, id LIMIT ?4",
        )
        .bind(user_id)
        .bind(after.0)
        .bind(after.1)
        .bind(LIVE_PAGE)
        .fetch_all(readers)
        .await?;
        let Some(&end) = ends.last() else { return Ok(live) };
        after = end;
        live.extend(ends.into_iter().map(|(_, id)| id));
    }
}
