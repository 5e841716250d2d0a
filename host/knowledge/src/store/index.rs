//! What an index reads, in pages: a connection is never kept for long.

use std::collections::HashSet;

use kitbag_database::sql;
use serde::{Deserialize, Serialize};

use super::{Store, as_i64};

/// Rows of a page: some megabytes.
const MAX_ROWS: usize = 1024;

/// Ids of a page.
const MAX_IDS: i64 = 20_000;

/// Before every row.
pub(crate) const BEGINNING: End = (i64::MIN, i64::MIN);

/// How often a user's chunks have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Revision {
    pub(crate) revision: i64,
    pub(crate) removals: i64,
}

/// Where a page ended: revision and id of its last row.
pub(crate) type End = (i64, i64);

/// A chunk as an index takes it up.
#[derive(Clone, Debug)]
pub(crate) struct ChunkRow {
    pub(crate) id: i64,
    pub(crate) document: i64,
    /// Its words, counted; see `knowledge/words`.
    pub(crate) terms: Vec<u8>,
    /// Little-endian 32-bit floats; there once a model that serves has read the chunk.
    pub(crate) vector: Option<Vec<u8>>,
    /// Whether that is the previous model.
    pub(crate) is_previous: bool,
}

/// The models whose vectors serve, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Models {
    pub(crate) current: Option<String>,
    /// The one whose vectors serve until the current one has read everything.
    pub(crate) previous: Option<String>,
}

impl Store {
    /// The revision of the user's chunks now.
    pub(crate) async fn revision(&self, user_id: &str) -> kitbag_database::Result<Revision> {
        let found: Option<(i64, i64)> =
            sql("SELECT revision, removals FROM knowledge_revisions WHERE user_id = $1")
                .bind(user_id)
                .fetch_optional(self.0.readers())
                .await?;
        Ok(found.map(|(revision, removals)| Revision { revision, removals }).unwrap_or_default())
    }

    /// The user's next chunks in the order of their revisions, with vectors of these models, and where the
    /// page ends; no end where there are none.
    pub(crate) async fn chunks_after(
        &self,
        user_id: &str,
        models: &Models,
        after: End,
    ) -> kitbag_database::Result<(Vec<ChunkRow>, Option<End>)> {
        type Columns = (i64, i64, i64, Vec<u8>, Option<Vec<u8>>, bool);
        let rows: Vec<Columns> = sql("SELECT id, revision, document, terms,
                 CASE WHEN model = $2 OR model = $3 THEN vector END, model IS NOT DISTINCT FROM $3 FROM chunks
             WHERE user_id = $1 AND (revision, id) > ($4, $5) ORDER BY revision, id LIMIT $6")
        .bind(user_id)
        .bind(&models.current)
        .bind(&models.previous)
        .bind(after.0)
        .bind(after.1)
        .bind(as_i64(MAX_ROWS))
        .fetch_all(self.0.readers())
        .await?;
        let end = rows.last().map(|(id, revision, ..)| (*revision, *id));
        let row = |(id, _, document, terms, vector, is_previous)| ChunkRow {
            id,
            document,
            terms,
            vector,
            is_previous,
        };
        Ok((rows.into_iter().map(row).collect(), end))
    }

    /// The models that have read chunks of any users, by name.
    pub(crate) async fn models(&self) -> kitbag_database::Result<Vec<String>> {
        let mut models = Vec::<String>::new();
        // Each step seeks: all at once would read the whole index.
        loop {
            let next: Option<String> = sql("SELECT MIN(model) FROM chunks WHERE model > $1")
                .bind(models.last().map_or("", String::as_str))
                .fetch_value(self.0.readers())
                .await?;
            match next {
                Some(model) => models.push(model),
                None => return Ok(models),
            }
        }
    }

    /// The ids of all the user's chunks.
    pub(crate) async fn chunk_ids(&self, user_id: &str) -> kitbag_database::Result<HashSet<i64>> {
        let mut found = HashSet::new();
        // A chunk that gets another revision meanwhile comes later, and is not missed.
        let mut after: End = BEGINNING;
        loop {
            let ends: Vec<End> = sql("SELECT revision, id FROM chunks
                 WHERE user_id = $1 AND (revision, id) > ($2, $3) ORDER BY revision, id LIMIT $4")
            .bind(user_id)
            .bind(after.0)
            .bind(after.1)
            .bind(MAX_IDS)
            .fetch_all(self.0.readers())
            .await?;
            let Some(&end) = ends.last() else { return Ok(found) };
            after = end;
            found.extend(ends.into_iter().map(|(_, id)| id));
        }
    }
}
