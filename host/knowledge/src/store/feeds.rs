//! Feeds: sub-groups of a source's documents.

use std::collections::HashMap;

use kitbag_database::{FromRow, Holder, StatementBuilder, Transaction, list, sql};

use super::Store;
use crate::document::{Feed, NewFeed, Origin};

/// Largest number of listed feeds, whatever the caller requests.
const MAX_LISTED: u32 = 1000;
/// Largest number of rows per insert statement.
const ROWS: usize = 128;

#[derive(FromRow)]
struct FeedRow {
    key: String,
    name: String,
    label: Option<String>,
    source: String,
}

impl Store {
    /// One page of the holder's feeds, sorted by source and name: at most `limit`, after the first `offset`.
    pub(crate) async fn feeds(
        &self,
        holder: &Holder,
        offset: u32,
        limit: u32,
    ) -> kitbag_database::Result<Vec<Feed>> {
        let rows: Vec<FeedRow> = sql("SELECT key, name, label, source FROM feeds
             WHERE holder = $1 ORDER BY source, name, key LIMIT $2 OFFSET $3")
        .bind(holder)
        .bind(limit.min(MAX_LISTED))
        .bind(offset)
        .fetch_all(self.0.readers())
        .await?;
        let feed = |FeedRow { key, name, label, source }: FeedRow| Feed { key, name, label, source };
        Ok(rows.into_iter().map(feed).collect())
    }

    /// Number of documents in a feed of the holder; an index-only query.
    pub(crate) async fn feed_size(
        &self,
        holder: &Holder,
        source: &str,
        key: &str,
    ) -> kitbag_database::Result<u64> {
        let size: i64 = sql("SELECT COUNT(*) FROM documents
             WHERE feed_id = (SELECT id FROM feeds WHERE holder = $1 AND source = $2 AND key = $3)")
        .bind(holder)
        .bind(source)
        .bind(key)
        .fetch_value(self.0.readers())
        .await?;
        Ok(size.try_into().unwrap_or_default())
    }

    /// Creates or renames feeds of one source. Returns their ids by key. A feed without a new label keeps its
    /// old one. Of several feeds with the same key, the last one counts.
    pub(super) async fn put_feeds<'f>(
        transaction: &mut Transaction,
        origin: &Origin,
        feeds: impl Iterator<Item = &'f NewFeed>,
    ) -> kitbag_database::Result<HashMap<String, i64>> {
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
            let mut statement =
                StatementBuilder::new("INSERT INTO feeds (holder, source, key, name, label) ");
            statement.push_values(some, |mut row, feed| {
                row.push_bind(&origin.holder)
                    .push_bind(&origin.source)
                    .push_bind(&feed.key)
                    .push_bind(&feed.name)
                    .push_bind(&feed.label);
            });
            statement.push(
                " ON CONFLICT (holder, source, key) DO UPDATE
                  SET name = excluded.name, label = COALESCE(excluded.label, feeds.label)
                  WHERE feeds.name <> excluded.name
                     OR COALESCE(excluded.label, feeds.label) IS DISTINCT FROM feeds.label",
            );
            statement.build().uncached().execute(&mut *transaction).await?;
        }
        let keys: Vec<_> = feeds.iter().map(|feed| &feed.key).collect();
        let ids: Vec<(String, i64)> = sql("SELECT key, id FROM feeds
             WHERE holder = $1 AND source = $2 AND key IN (SELECT value FROM json_each($3))")
        .bind(&origin.holder)
        .bind(&origin.source)
        .bind(list(&keys))
        .fetch_all(transaction)
        .await?;
        Ok(ids.into_iter().collect())
    }

    /// Deletes a feed without documents.
    pub(super) async fn remove_empty_feed(
        transaction: &mut Transaction,
        holder: &Holder,
        feed: i64,
    ) -> kitbag_database::Result<()> {
        sql("DELETE FROM feeds WHERE id = $1 AND holder = $2
             AND NOT EXISTS (SELECT 1 FROM documents WHERE feed_id = $1)")
        .bind(feed)
        .bind(holder)
        .execute(transaction)
        .await?;
        Ok(())
    }
}
