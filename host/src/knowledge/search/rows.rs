//! What a search reads from the database besides the user's index. Every statement names the user.

use std::collections::{HashMap, HashSet};

use sqlx::SqlitePool;

use crate::knowledge::document::Query;

/// The documents of a source, or with a byline, or both.
pub(super) async fn allowed(
    readers: &SqlitePool,
    user_id: &str,
    query: &Query,
) -> sqlx::Result<HashSet<i64>> {
    let documents: Vec<i64> = sqlx::query_scalar(
        "SELECT sequence FROM documents
         WHERE user_id = ?1 AND (?2 IS NULL OR source = ?2) AND (?3 IS NULL OR author_folded = ?3)",
    )
    .bind(user_id)
    .bind(&query.source)
    .bind(query.author.as_ref().map(|author| author.to_lowercase()))
    .fetch_all(readers)
    .await?;
    Ok(documents.into_iter().collect())
}

/// The texts of chunks.
pub(super) async fn texts(
    readers: &SqlitePool,
    user_id: &str,
    chunks: &[i64],
) -> sqlx::Result<HashMap<i64, String>> {
    let texts: Vec<(i64, String)> = sqlx::query_as(
        "SELECT t.chunk, t.text FROM chunk_texts t JOIN chunks c ON c.id = t.chunk
         WHERE c.user_id = ? AND t.chunk IN (SELECT value FROM json_each(?))",
    )
    .bind(user_id)
    .bind(json(chunks))
    .fetch_all(readers)
    .await?;
    Ok(texts.into_iter().collect())
}

fn json(numbers: &[i64]) -> String {
    serde_json::to_string(numbers).expect("numbers are JSON")
}
