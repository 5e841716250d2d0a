//! Chunks, as jobs write them; [`index`](super::index) reads them for search.

use std::collections::{BTreeMap, HashMap};

use kitbag_database::{FromRow, Holder, Scope, StatementBuilder, Transaction, sql};

use super::Store;
use super::jobs::{Job, Kind, is_current};

/// Largest number of rows per insert statement.
const ROWS: usize = 128;

/// New chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewChunk {
    pub(crate) text: String,
    /// Counted words; see `words::count`.
    pub(crate) terms: Vec<u8>,
}

/// Id of a chunk, and its vector.
pub(crate) type Vector = (i64, Vec<f32>);

/// Chunk without a vector of the current model.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(crate) struct Unembedded {
    pub(crate) id: i64,
    /// Title of the document.
    pub(crate) title: String,
    pub(crate) text: String,
}

impl Store {
    /// Replaces the chunks of documents that have not changed since. Documents with chunks get a job of kind
    /// `next`; the others become ready.
    pub(crate) async fn put_chunks(
        &self,
        documents: &[(Job, Vec<NewChunk>)],
        next: Option<Kind>,
    ) -> kitbag_database::Result<()> {
        let mut by_holder: BTreeMap<&Holder, Vec<_>> = BTreeMap::new();
        for document in documents {
            by_holder.entry(&document.0.holder).or_default().push(document);
        }
        let holders: Vec<_> = by_holder.keys().copied().collect();
        let mut transaction = self.0.begin(Scope::Holders(&holders)).await?;
        for (holder, documents) in by_holder {
            let mut revision = None;
            let mut removed = false;
            for (job, chunks) in documents {
                if !is_current(&mut transaction, job).await? {
                    continue;
                }
                let revision = match revision {
                    Some(revision) => revision,
                    None => *revision.insert(Self::next_revision(&mut transaction, holder, 0).await?),
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
                count_removal(&mut transaction, holder).await?;
            }
        }
        transaction.commit().await
    }

    /// First chunks of a document without a vector of `model`.
    pub(crate) async fn unembedded(
        &self,
        job: &Job,
        model: &str,
        limit: usize,
    ) -> kitbag_database::Result<Vec<Unembedded>> {
        sql(
            "SELECT c.id, d.title, t.text FROM chunks c JOIN chunk_texts t ON t.chunk = c.id
             JOIN documents d ON d.sequence = c.document AND d.holder = c.holder
             WHERE c.document = $1 AND c.holder = $2 AND c.model IS DISTINCT FROM $3 ORDER BY c.position LIMIT $4",
        )
        .bind(job.document)
        .bind(&job.holder)
        .bind(model)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(self.0.readers())
        .await
    }

    /// Stores vectors for documents that have not changed since. Documents without a missing vector become
    /// ready.
    pub(crate) async fn put_vectors(
        &self,
        model: &str,
        documents: &[(Job, Vec<Vector>)],
    ) -> kitbag_database::Result<()> {
        let holders: Vec<_> = documents.iter().map(|(job, _)| &job.holder).collect();
        let mut transaction = self.0.begin(Scope::Holders(&holders)).await?;
        let mut revisions = HashMap::new();
        for (job, vectors) in documents {
            let holder = &job.holder;
            if !is_current(&mut transaction, job).await? {
                continue;
            }
            let revision = if let Some(revision) = revisions.get(holder) {
                *revision
            } else {
                let revision = Self::next_revision(&mut transaction, holder, 0).await?;
                *revisions.entry(holder).or_insert(revision)
            };
            for (chunk, vector) in vectors {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                sql("UPDATE chunks SET vector = $1, model = $2, revision = $3 WHERE id = $4 AND holder = $5")
                    .bind(bytes)
                    .bind(model)
                    .bind(revision)
                    .bind(*chunk)
                    .bind(holder)
                    .execute(&mut transaction)
                    .await?;
            }
            let lacks_one: bool = sql(
                "SELECT EXISTS (SELECT 1 FROM chunks WHERE document = $1 AND holder = $2 AND model IS DISTINCT FROM $3)",
            )
            .bind(job.document)
            .bind(holder)
            .bind(model)
            .fetch_value(&mut transaction)
            .await?;
            if lacks_one {
                // A document that has come to this job has not failed.
                Self::advance(&mut transaction, job, Some(Kind::Embed)).await?;
            } else {
                Self::advance(&mut transaction, job, None).await?;
                make_ready(&mut transaction, job).await?;
            }
        }
        transaction.commit().await
    }

    /// Increments the revision of the holder's chunks, and adds `removals` to the number of removals.
    pub(super) async fn next_revision(
        transaction: &mut Transaction,
        holder: &Holder,
        removals: i64,
    ) -> kitbag_database::Result<i64> {
        sql("INSERT INTO knowledge_revisions (holder, revision, removals) VALUES ($1, 1, $2)
             ON CONFLICT (holder) DO UPDATE
             SET revision = knowledge_revisions.revision + 1, removals = knowledge_revisions.removals + $2
             RETURNING revision")
        .bind(holder)
        .bind(removals)
        .fetch_value(transaction)
        .await
    }
}

async fn count_removal(transaction: &mut Transaction, holder: &Holder) -> kitbag_database::Result<()> {
    sql("UPDATE knowledge_revisions SET removals = removals + 1 WHERE holder = $1")
        .bind(holder)
        .execute(transaction)
        .await?;
    Ok(())
}

/// Deletes a document's chunks. Returns whether there were any.
async fn remove_chunks(transaction: &mut Transaction, job: &Job) -> kitbag_database::Result<bool> {
    let removed = sql("DELETE FROM chunks WHERE document = $1 AND holder = $2")
        .bind(job.document)
        .bind(&job.holder)
        .execute(transaction)
        .await?;
    Ok(removed > 0)
}

async fn insert_chunks(
    transaction: &mut Transaction,
    job: &Job,
    chunks: &[NewChunk],
    revision: i64,
) -> kitbag_database::Result<()> {
    for (rows, first) in chunks.chunks(ROWS).zip((0_usize..).step_by(ROWS)) {
        let mut statement =
            StatementBuilder::new("INSERT INTO chunks (holder, document, position, revision, terms) ");
        statement.push_values(rows.iter().zip(first..), |mut row, (chunk, position)| {
            row.push_bind(&job.holder)
                .push_bind(job.document)
                .push_bind(i64::try_from(position).expect("no document has so many"))
                .push_bind(revision)
                .push_bind(chunk.terms.as_slice());
        });
        statement.push(" RETURNING id, position");
        let ids: Vec<(i64, i64)> = statement.build().uncached().fetch_all(&mut *transaction).await?;

        let mut statement = StatementBuilder::new("INSERT INTO chunk_texts (chunk, text) ");
        statement.push_values(ids, |mut row, (id, position)| {
            let place = usize::try_from(position).expect("it was just counted from 0") - first;
            row.push_bind(id).push_bind(&rows[place].text);
        });
        statement.build().uncached().execute(&mut *transaction).await?;
    }
    Ok(())
}

/// Marks a document as ready, unless its file could not be captured: that failure remains visible.
async fn make_ready(transaction: &mut Transaction, job: &Job) -> kitbag_database::Result<()> {
    sql("UPDATE documents SET state = 'ready', failed_job = NULL, reason = NULL
         WHERE sequence = $1 AND holder = $2 AND failed_job IS DISTINCT FROM 'capture' AND state <> 'ready'")
    .bind(job.document)
    .bind(&job.holder)
    .execute(transaction)
    .await?;
    Ok(())
}
