//! Reads the chunks of an index page by page, so that no connection is occupied for long.

use std::collections::HashSet;

use kitbag_database::{Holder, sql};
use serde::{Deserialize, Serialize};

use super::{Store, as_i64};

/// Rows per page: some megabytes.
const MAX_ROWS: usize = 1024;

/// Ids per page.
const MAX_IDS: i64 = 20_000;

/// Position before the first row.
pub(crate) const BEGINNING: End = (i64::MIN, i64::MIN);

/// Number of changes to a holder's chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Revision {
    pub(crate) revision: i64,
    pub(crate) removals: i64,
}

/// End of a page: revision and id of its last row.
pub(crate) type End = (i64, i64);

/// Chunk, as an index loads it.
#[derive(Clone, Debug)]
pub(crate) struct ChunkRow {
    pub(crate) id: i64,
    pub(crate) document: i64,
    /// Counted words; see `words::count`.
    pub(crate) terms: Vec<u8>,
    /// Vector as little-endian 32-bit floats; `None` until the current model has embedded the chunk.
    pub(crate) vector: Option<Vec<u8>>,
}

impl Store {
    /// Current revision of the holder's chunks.
    pub(crate) async fn revision(&self, holder: &Holder) -> kitbag_database::Result<Revision> {
        let found: Option<(i64, i64)> =
            sql("SELECT revision, removals FROM knowledge_revisions WHERE holder = $1")
                .bind(holder)
                .fetch_optional(self.0.readers())
                .await?;
        Ok(found.map(|(revision, removals)| Revision { revision, removals }).unwrap_or_default())
    }

    /// Next page of the holder's chunks in order of revision, with vectors of this model, and the end of the page; `None` if there are no more chunks.
    pub(crate) async fn chunks_after(
        &self,
        holder: &Holder,
        model: Option<&str>,
        after: End,
    ) -> kitbag_database::Result<(Vec<ChunkRow>, Option<End>)> {
        type Columns = (i64, i64, i64, Vec<u8>, Option<Vec<u8>>);
        let rows: Vec<Columns> = sql("SELECT id, revision, document, terms,
                 CASE WHEN model = $2 THEN vector END FROM chunks
             WHERE holder = $1 AND (revision, id) > ($3, $4) ORDER BY revision, id LIMIT $5")
        .bind(holder)
        .bind(model)
        .bind(after.0)
        .bind(after.1)
        .bind(as_i64(MAX_ROWS))
        .fetch_all(self.0.readers())
        .await?;
        let end = rows.last().map(|(id, revision, ..)| (*revision, *id));
        let row = |(id, _, document, terms, vector)| ChunkRow { id, document, terms, vector };
        Ok((rows.into_iter().map(row).collect(), end))
    }

    /// Names of all models with vectors of any user's chunks.
    pub(crate) async fn models(&self) -> kitbag_database::Result<Vec<String>> {
        let mut models = Vec::<String>::new();
        // Each step seeks in the index: a single query would scan it.
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

    /// Ids of all the holder's chunks.
    pub(crate) async fn chunk_ids(&self, holder: &Holder) -> kitbag_database::Result<HashSet<i64>> {
        let mut found = HashSet::new();
        // A chunk that gets another revision meanwhile moves to a later page, and is not missed.
        let mut after: End = BEGINNING;
        loop {
            let ends: Vec<End> = sql("SELECT revision, id FROM chunks
                 WHERE holder = $1 AND (revision, id) > ($2, $3) ORDER BY revision, id LIMIT $4")
            .bind(holder)
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
