//! Feeds: sub-groups of a source's documents.

use std::collections::HashMap;

use sqlx::{FromRow, QueryBuilder, SqliteConnection};

use super::{Store, json};
use crate::knowledge::document::{Feed, NewFeed, Origin};

/// Feeds that are listed at most.
const MAX_LISTED: i64 = 10_000;
/// Rows that one statement inserts.
const ROWS: usize = 128;

#[derive(FromRow)]
struct FeedRow {
    key: String,
    name: String,
    label: Option<String>,
    source: String,
    documents: i64,
}

impl Store {
    /// The user's feeds, by source and name, each with the number of its documents.
    pub(in crate::knowledge) async fn feeds(&self, user_id: &str) -> sqlx::Result<Vec<(Feed, u64)>> {
        let rows: Vec<FeedRow> = sqlx::query_as(
            "SELECT f.key, f.name, f.label, f.source,
                    (SELECT COUNT(*) FROM documents d WHERE d.feed_id = f.id) AS documents
             FROM feeds f WHERE f.user_id = ? ORDER BY f.source, f.name, f.key LIMIT ?",
        )
        .bind(user_id)
        .bind(MAX_LISTED)
        .fetch_all(&self.0.readers)
        .await?;
        let feed = |row: FeedRow| {
            let FeedRow { key, name, label, source, documents } = row;
            (Feed { key, name, label, source }, documents.try_into().unwrap_or_default())
        };
        Ok(rows.into_iter().map(feed).collect())
    }

    /// Makes or renames feeds of one source, and returns the id of each by its key. One that says no
    /// label keeps the one it has. Of feeds with the same key the last one counts.
    pub(super) async fn put_feeds<'f>(
        transaction: &mut SqliteConnection,
        origin: &Origin,
        feeds: impl Iterator<Item = &'f NewFeed>,
    ) -> sqlx::Result<HashMap<String, i64>> {
        let mut by_key: HashMap<&str, NewFeed> = HashMap::new();
        for feed in feeds {
            let label = by_key.remove(feed.key.as_str()).and_then(|before| before.label);
            by_key.insert(&feed.key, NewFeed { label: feed.label.clone().or(label), ..feed.clone() });
        }
        if by_key.is_empty() {
            return Ok(HashMap::new());
        }
        let feeds: Vec<_> = by_key.into_values().collect();
        for some in feeds.chunks(ROWS) {
            let mut statement = QueryBuilder::new("INSERT INTO feeds (user_id, source, key, name, label) ");
            statement.push_values(some, |mut row, feed| {
                row.push_bind(&origin.user_id)
                    .push_bind(&origin.source)
                    .push_bind(&feed.key)
                    .push_bind(&feed.name)
                    .push_bind(&feed.label);
            });
            statement.push(
                " ON CONFLICT (user_id, source, key) DO UPDATE
                  SET name = excluded.name, label = ifnull(excluded.label, label)
                  WHERE name <> excluded.name OR ifnull(excluded.label, label) IS NOT label",
            );
            statement.build().persistent(false).execute(&mut *transaction).await?;
        }
        let keys: Vec<_> = feeds.iter().map(|feed| &feed.key).collect();
        let ids: Vec<(String, i64)> = sqlx::query_as(
            "SELECT key, id FROM feeds
             WHERE user_id = ? AND source = ? AND key IN (SELECT value FROM json_each(?))",
        )
        .bind(&origin.user_id)
        .bind(&origin.source)
        .bind(json(&keys)?)
        .fetch_all(transaction)
        .await?;
        Ok(ids.into_iter().collect())
    }

    /// Removes a feed that has no document.
    pub(super) async fn remove_empty_feed(
        transaction: &mut SqliteConnection,
        user_id: &str,
        feed: i64,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "DELETE FROM feeds WHERE id = ?1 AND user_id = ?2
             AND NOT EXISTS (SELECT 1 FROM documents WHERE feed_id = ?1)",
        )
        .bind(feed)
        .bind(user_id)
        .execute(transaction)
        .await
        .map(drop)
    }
}
