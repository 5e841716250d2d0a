//! Chunks as jobs write them. Search reads them by itself.

use std::collections::{BTreeMap, HashMap};

use sqlx::{FromRow, QueryBuilder, SqliteConnection};

use super::Store;
use super::jobs::{Job, Kind};
use crate::database;

/// Rows that one statement inserts.
const ROWS: usize = 128;

/// A passage on its way in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::knowledge) struct NewChunk {
    pub(in crate::knowledge) text: String,
    /// Its words, counted.
    pub(in crate::knowledge) terms: Vec<u8>,
}

/// A chunk's id, and what the model made of it.
pub(in crate::knowledge) type Vector = (i64, Vec<f32>);

/// A chunk that has no vector of the current model.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(in crate::knowledge) struct Unembedded {
    pub(in crate::knowledge) id: i64,
    /// Its document's.
    pub(in crate::knowledge) title: String,
    pub(in crate::knowledge) text: String,
}

impl Store {
    /// Replaces the chunks of documents, unless they have changed since; `next` is done for each that has
    /// chunks, and the others are ready.
    pub(in crate::knowledge) async fn put_chunks(
        &self,
        documents: &[(Job, Vec<NewChunk>)],
        next: Option<Kind>,
    ) -> database::Result<()> {
        let mut by_user: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for document in documents {
            by_user.entry(&document.0.user_id).or_default().push(document);
        }
        let mut transaction = self.0.begin().await?;
        for (user_id, documents) in by_user {
            let (mut revision, mut removed) = (None, false);
            for (job, chunks) in documents {
                if !is_current(&mut transaction, job).await? {
                    continue;
                }
                let revision = match revision {
                    Some(revision) => revision,
                    None => *revision.insert(Self::next_revision(&mut transaction, user_id, 0).await?),
                };
                removed |= remove_chunks(&mut transaction, job).await?;
                insert_chunks(&mut transaction, job, chunks, revision).await?;
                let next = next.filter(|_| !chunks.is_empty());
                Self::advance(&mut transaction, job, next).await?;
                if next.is_none() {
                    make_ready(&mut transaction, job).await?;
                }
            }
            if removed {
                count_removal(&mut transaction, user_id).await?;
            }
        }
        transaction.commit().await
    }

    /// The first chunks of a document that have no vector of `model`.
    pub(in crate::knowledge) async fn unembedded(
        &self,
        job: &Job,
        model: &str,
        limit: usize,
    ) -> database::Result<Vec<Unembedded>> {
        Ok(sqlx::query_as(
            "SELECT c.id, d.title, t.text FROM chunks c JOIN chunk_texts t ON t.chunk = c.id
             JOIN documents d ON d.sequence = c.document AND d.user_id = c.user_id
             WHERE c.document = ? AND c.user_id = ? AND c.model IS NOT ? ORDER BY c.position LIMIT ?",
        )
        .bind(job.document)
        .bind(&job.user_id)
        .bind(model)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(self.0.readers())
        .await?)
    }

    /// Keeps vectors of chunks that are still there. The documents that have all of them are ready.
    pub(in crate::knowledge) async fn put_vectors(
        &self,
        model: &str,
        documents: &[(Job, Vec<Vector>)],
    ) -> database::Result<()> {
        let mut transaction = self.0.begin().await?;
        let mut revisions = HashMap::new();
        for (job, vectors) in documents {
            let user_id = job.user_id.as_str();
            let revision = if let Some(revision) = revisions.get(user_id) {
                *revision
            } else {
                let revision = Self::next_revision(&mut transaction, user_id, 0).await?;
                *revisions.entry(user_id).or_insert(revision)
            };
            for (chunk, vector) in vectors {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                sqlx::query(
                    "UPDATE chunks SET vector = ?, model = ?, revision = ? WHERE id = ? AND user_id = ?",
                )
                .bind(bytes)
                .bind(model)
                .bind(revision)
                .bind(chunk)
                .bind(user_id)
                .execute(&mut *transaction)
                .await?;
            }
            if !is_current(&mut transaction, job).await? {
                continue;
            }
            let lacks_one: bool = sqlx::query_scalar(
                "SELECT EXISTS (SELECT 1 FROM chunks WHERE document = ? AND user_id = ? AND model IS NOT ?)",
            )
            .bind(job.document)
            .bind(user_id)
            .bind(model)
            .fetch_one(&mut *transaction)
            .await?;
            if lacks_one {
                // What has come this far has not failed.
                Self::advance(&mut transaction, job, Some(Kind::Embed)).await?;
            } else {
                Self::advance(&mut transaction, job, None).await?;
                make_ready(&mut transaction, job).await?;
            }
        }
        transaction.commit().await
    }

    /// Counts a change of the user's chunks, in which some of them went away `removals` times.
    pub(super) async fn next_revision(
        transaction: &mut SqliteConnection,
        user_id: &str,
        removals: i64,
    ) -> database::Result<i64> {
        Ok(sqlx::query_scalar(
            "INSERT INTO knowledge_revisions (user_id, revision, removals) VALUES (?1, 1, ?2)
             ON CONFLICT (user_id) DO UPDATE SET revision = revision + 1, removals = removals + ?2
             RETURNING revision",
        )
        .bind(user_id)
        .bind(removals)
        .fetch_one(transaction)
        .await?)
    }
}

async fn count_removal(transaction: &mut SqliteConnection, user_id: &str) -> database::Result<()> {
    sqlx::query("UPDATE knowledge_revisions SET removals = removals + 1 WHERE user_id = ?")
        .bind(user_id)
        .execute(transaction)
        .await?;
    Ok(())
}

/// Whether the document is still there as the job found it.
pub(super) async fn is_current(transaction: &mut SqliteConnection, job: &Job) -> database::Result<bool> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM documents WHERE sequence = ? AND user_id = ? AND revision = ?)",
    )
    .bind(job.document)
    .bind(&job.user_id)
    .bind(job.revision)
    .fetch_one(transaction)
    .await?)
}

/// Removes a document's chunks; says whether there were any.
async fn remove_chunks(transaction: &mut SqliteConnection, job: &Job) -> database::Result<bool> {
    let removed = sqlx::query("DELETE FROM chunks WHERE document = ? AND user_id = ?")
        .bind(job.document)
        .bind(&job.user_id)
        .execute(transaction)
        .await?;
    Ok(removed.rows_affected() > 0)
}

async fn insert_chunks(
    transaction: &mut SqliteConnection,
    job: &Job,
    chunks: &[NewChunk],
    revision: i64,
) -> database::Result<()> {
    for (rows, first) in chunks.chunks(ROWS).zip((0_usize..).step_by(ROWS)) {
        let mut statement =
            QueryBuilder::new("INSERT INTO chunks (user_id, document, position, revision, terms) ");
        statement.push_values(rows.iter().zip(first..), |mut row, (chunk, position)| {
            row.push_bind(&job.user_id)
                .push_bind(job.document)
                .push_bind(i64::try_from(position).expect("no document has so many"))
                .push_bind(revision)
                .push_bind(chunk.terms.as_slice());
        });
        statement.push(" RETURNING id, position");
        let ids: Vec<(i64, i64)> =
            statement.build_query_as().persistent(false).fetch_all(&mut *transaction).await?;

        let mut statement = QueryBuilder::new("INSERT INTO chunk_texts (chunk, text) ");
        statement.push_values(ids, |mut row, (id, position)| {
            let place = usize::try_from(position).expect("it was just counted from 0") - first;
            row.push_bind(id).push_bind(&rows[place].text);
        });
        statement.build().persistent(false).execute(&mut *transaction).await?;
    }
    Ok(())
}

/// The document is done, unless its file could not be captured: that stays to be seen.
async fn make_ready(transaction: &mut SqliteConnection, job: &Job) -> database::Result<()> {
    sqlx::query(
        "UPDATE documents SET state = 'ready', failed_job = NULL, reason = NULL
         WHERE sequence = ? AND user_id = ? AND failed_job IS NOT 'capture' AND state <> 'ready'",
    )
    .bind(job.document)
    .bind(&job.user_id)
    .execute(transaction)
    .await?;
    Ok(())
}
