//! What an index reads, in pages: a connection is never kept for long.

use std::collections::HashSet;

use super::{Store, as_i64};
use crate::database::{self, sql};

/// Rows of a page: some megabytes.
const MAX_ROWS: usize = 1024;

/// Ids of a page.
const MAX_IDS: i64 = 20_000;

/// Before every row.
pub(in crate::knowledge) const BEGINNING: End = (i64::MIN, i64::MIN);

/// How often a user's chunks have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::knowledge) struct Revision {
    pub(in crate::knowledge) revision: i64,
    pub(in crate::knowledge) removals: i64,
}

/// Where a page ended: revision and id of its last row.
pub(in crate::knowledge) type End = (i64, i64);

/// A chunk as an index takes it up.
#[derive(Clone, Debug)]
pub(in crate::knowledge) struct ChunkRow {
    pub(in crate::knowledge) id: i64,
    pub(in crate::knowledge) document: i64,
    /// Its words, counted; see `knowledge/words`.
    pub(in crate::knowledge) terms: Vec<u8>,
    /// Little-endian 32-bit floats; there once a model that serves has read the chunk.
    pub(in crate::knowledge) vector: Option<Vec<u8>>,
    /// Whether that is the previous model.
    pub(in crate::knowledge) is_previous: bool,
}

/// The models whose vectors serve, by name.
#[derive(Clone, Debug, Default)]
pub(in crate::knowledge) struct Models {
    pub(in crate::knowledge) current: Option<String>,
    /// The one whose vectors serve until the current one has read everything.
    pub(in crate::knowledge) previous: Option<String>,
}

impl Store {
    /// The revision of the user's chunks now.
    pub(in crate::knowledge) async fn revision(&self, user_id: &str) -> database::Result<Revision> {
        let found: Option<(i64, i64)> =
            sql("SELECT revision, removals FROM knowledge_revisions WHERE user_id = $1")
                .bind(user_id)
                .fetch_optional(self.0.readers())
                .await?;
        Ok(found.map(|(revision, removals)| Revision { revision, removals }).unwrap_or_default())
    }

    /// The user's next chunks in the order of their revisions, with vectors of these models, and where the
    /// page ends; no end where there are none.
    pub(in crate::knowledge) async fn chunks_after(
        &self,
        user_id: &str,
        models: &Models,
        after: End,
    ) -> database::Result<(Vec<ChunkRow>, Option<End>)> {
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
    pub(in crate::knowledge) async fn models(&self) -> database::Result<Vec<String>> {
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
    pub(in crate::knowledge) async fn chunk_ids(&self, user_id: &str) -> database::Result<HashSet<i64>> {
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
