//! What a search reads from the database besides the user's index. Every statement names the user.

use std::collections::{HashMap, HashSet};

use sqlx::{FromRow, SqlitePool};

use crate::knowledge::document::{Artifact, Feed, Query, State, Summary};

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

#[derive(FromRow)]
struct SummaryRow {
    sequence: i64,
    id: String,
    title: String,
    url: Option<String>,
    author: Option<String>,
    source: String,
    state: String,
    reason: Option<String>,
    artifact: Option<String>,
    artifact_size: Option<i64>,
    artifact_type: Option<String>,
    created_at: i64,
    updated_at: i64,
    feed_key: Option<String>,
    feed_name: Option<String>,
    feed_label: Option<String>,
}

/// The user's documents with these numbers, by number.
pub(super) async fn summaries(
    readers: &SqlitePool,
    user_id: &str,
    documents: &[i64],
) -> sqlx::Result<HashMap<i64, Summary>> {
    let rows: Vec<SummaryRow> = sqlx::query_as(
        "SELECT d.sequence, d.id, d.title, d.url, d.author, d.source, d.state, d.reason, d.artifact,
                d.artifact_size, d.artifact_type, d.created_at, d.updated_at,
                f.key AS feed_key, f.name AS feed_name, f.label AS feed_label
         FROM documents d LEFT JOIN feeds f ON f.id = d.feed_id
         WHERE d.user_id = ? AND d.sequence IN (SELECT value FROM json_each(?))",
    )
    .bind(user_id)
    .bind(json(documents))
    .fetch_all(readers)
    .await?;
    Ok(rows.into_iter().map(|row| (row.sequence, row.into())).collect())
}

impl From<SummaryRow> for Summary {
    fn from(row: SummaryRow) -> Self {
        let feed = row.feed_key.zip(row.feed_name).map(|(key, name)| Feed {
            key,
            name,
            label: row.feed_label,
            source: row.source.clone(),
        });
        let artifact = row.artifact.zip(row.artifact_type).map(|(digest, media_type)| Artifact {
            digest,
            size: row.artifact_size.and_then(|size| size.try_into().ok()).unwrap_or_default(),
            media_type,
        });
        let state = match row.state.as_str() {
            "ready" => State::Ready,
            "failed" => State::Failed(row.reason.unwrap_or_default()),
            _ => State::Pending,
        };
        Self {
            id: row.id,
            title: row.title,
            url: row.url,
            author: row.author,
            source: row.source,
            feed,
            state,
            artifact,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

fn json(numbers: &[i64]) -> String {
    serde_json::to_string(numbers).expect("numbers are JSON")
}
