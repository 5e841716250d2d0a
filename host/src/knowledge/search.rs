//! Search.

use super::document::{Found, Hit, MAX_RESULTS, Mode, Query};
use super::error::KnowledgeError;
use super::store::Store;
use crate::database::Database;
use kitbag_manifest::Problems;

/// Finds each of the words, in any passage.
pub(super) async fn search(
    database: &Database,
    store: &Store,
    user_id: &str,
    query: &Query,
) -> Result<Found, KnowledgeError> {
    if !(1..=MAX_RESULTS).contains(&query.limit) {
        let mut problems = Problems::default();
        problems.add("limit", format!("must be between 1 and {MAX_RESULTS}"));
        return Err(KnowledgeError::Invalid(problems));
    }
    let words: Vec<_> = query.text.split_whitespace().map(str::to_lowercase).collect();
    let rows: Vec<(i64, String)> = sqlx::query_as(
        "SELECT c.document, t.text FROM chunks c JOIN chunk_texts t ON t.chunk = c.id
         JOIN documents d ON d.sequence = c.document AND d.user_id = c.user_id
         WHERE c.user_id = ?1 AND (?2 IS NULL OR d.source = ?2) AND (?3 IS NULL OR d.author_folded = ?3)",
    )
    .bind(user_id)
    .bind(&query.source)
    .bind(query.author.as_ref().map(|author| author.to_lowercase()))
    .fetch_all(&database.readers)
    .await?;
    let mut scores = std::collections::BTreeMap::<i64, (usize, String)>::new();
    for (document, text) in rows {
        let folded = text.to_lowercase();
        let matches = words.iter().filter(|word| folded.contains(word.as_str())).count();
        let best = scores.entry(document).or_default();
        if matches > best.0 {
            *best = (matches, text);
        }
    }
    let mut best: Vec<_> = scores.into_iter().filter(|(_, (score, _))| *score > 0).collect();
    best.sort_by_key(|(document, (score, _))| (std::cmp::Reverse(*score), *document));
    let (offset, limit) = (query.offset as usize, query.limit as usize);
    let has_more = best.len() > offset + limit;
    let best: Vec<_> = best.into_iter().skip(offset).take(limit).collect();
    let sequences: Vec<_> = best.iter().map(|(document, _)| *document).collect();
    let mut summaries = store.summaries(user_id, &sequences).await?;
    let hits = best.into_iter().filter_map(|(document, (score, snippet))| {
        let document = summaries.remove(&document)?;
        #[expect(clippy::cast_precision_loss, reason = "few words")]
        Some(Hit { document, snippet, score: score as f64 })
    });
    Ok(Found { hits: hits.collect(), has_more, mode: Mode::FullText })
}
