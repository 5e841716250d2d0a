//! Documents change their holder: into the bin and back, from a user into a collection, between collections.
//!
//! A move keeps ids, versions and attribution, and takes chunks along: a document is found as soon as it has moved.

use std::collections::{BTreeMap, HashMap, HashSet};

use kitbag_database::{
    Executor, FromRow, Holder, Scope, StatementBuilder, Transaction, list, refuse_ended, sql,
};
use kitbag_files::objects::change_references;
use kitbag_files::stored_files::FileKind;

use super::jobs::Kind;
use super::usage::usage;
use super::{Store, as_i64, now};
use crate::KnowledgeError;
use crate::collections::CollectionError;
use crate::document::{Chosen, Conflict};

/// Largest number of documents per transaction.
const BATCH: usize = 500;

/// A move of documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move<'m> {
    pub(crate) from: &'m Holder,
    pub(crate) to: &'m Holder,
    /// Id of the user who moves them: no batch is moved once they were ended.
    pub(crate) by: &'m str,
    /// Model of vectors, if there is one: what it has not read is embedded after a move out of a bin.
    pub(crate) model: Option<&'m str>,
}

/// Result of moving a batch.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) count: u64,
    /// Documents that stay, since the target has the same.
    pub(crate) conflicts: Vec<Conflict>,
    /// The last document that was looked at; `None` if there are no more.
    pub(crate) last: Option<i64>,
    /// Kinds of the jobs that were created.
    pub(crate) jobs: Vec<Kind>,
}

/// Result of purging a batch.
#[derive(Debug, Default)]
pub(crate) struct Purged {
    pub(crate) count: u64,
    /// Digests of captured files to which documents no longer refer.
    pub(crate) let_go: Vec<String>,
}

#[derive(FromRow)]
struct Row {
    sequence: i64,
    id: String,
    title: String,
    source: String,
    feed_id: Option<i64>,
    feed_key: Option<String>,
    feed_name: Option<String>,
    feed_label: Option<String>,
    identity: String,
    has_chunks: bool,
}

impl Store {
    /// Moves the chosen documents that come after the document `after`, at most [`BATCH`] of them. A move out of a bin,
    /// or into another holder, leaves out what the target has already.
    pub(crate) async fn move_batch(
        &self,
        moved: Move<'_>,
        chosen: &Chosen,
        after: i64,
    ) -> Result<Moved, KnowledgeError> {
        let Move { from, to, by, .. } = moved;
        let mut transaction = self.0.begin(Scope::Holders(&[from, to])).await?;
        refuse_ended(&mut transaction, by).await?;
        let rows = chosen_rows(&mut transaction, from, chosen, after).await?;
        let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(Moved::default()) };
        if !to.is_bin() {
            expect_there(&mut transaction, to).await?;
        }
        let before = usage(&mut transaction, &to.without_bin()).await?;
        let feeds = target_feeds(&mut transaction, to, &rows).await?;
        let (rows, conflicts) = without_conflicts(&mut transaction, to, rows, &feeds).await?;
        let sequences = list(&rows.iter().map(|row| row.sequence).collect::<Vec<_>>());
        let jobs = move_jobs(&mut transaction, moved, &sequences).await?;
        move_rows(&mut transaction, moved, &rows, &feeds).await?;
        if rows.iter().any(|row| row.has_chunks) {
            Self::next_revision(&mut transaction, from, 1).await?;
            let revision = Self::next_revision(&mut transaction, to, 0).await?;
            sql("UPDATE chunks SET holder = $1, revision = $2
                 WHERE document IN (SELECT CAST(value AS BIGINT) FROM json_each($3))")
            .bind(to)
            .bind(revision)
            .bind(&sequences)
            .execute(&mut transaction)
            .await?;
        }
        for feed in rows.iter().filter_map(|row| row.feed_id).collect::<HashSet<_>>() {
            Self::remove_empty_feed(&mut transaction, from, feed).await?;
        }
        if from.without_bin() != to.without_bin() {
            self.check_quota(&mut transaction, &to.without_bin(), before).await??;
        }
        transaction.commit().await?;
        Ok(Moved { count: rows.len() as u64, conflicts, last: Some(last), jobs })
    }

    /// Deletes chosen documents for good, with their chunks, jobs and versions: at most [`BATCH`] of them. Fails if the
    /// user `by`, empty for the server itself, was ended.
    pub(crate) async fn purge_batch(
        &self,
        holder: &Holder,
        chosen: &Chosen,
        by: &str,
    ) -> kitbag_database::Result<Purged> {
        let mut transaction = self.0.begin(Scope::Holders(&[holder])).await?;
        refuse_ended(&mut transaction, by).await?;
        let rows = chosen_rows(&mut transaction, holder, chosen, 0).await?;
        let sequences = list(&rows.iter().map(|row| row.sequence).collect::<Vec<_>>());
        let let_go: Vec<String> = sql("SELECT artifact FROM documents
             WHERE holder = $1 AND artifact IS NOT NULL
                 AND sequence IN (SELECT CAST(value AS BIGINT) FROM json_each($2))")
        .bind(holder)
        .bind(&sequences)
        .fetch_values(&mut transaction)
        .await?;
        sql("DELETE FROM documents
             WHERE holder = $1 AND sequence IN (SELECT CAST(value AS BIGINT) FROM json_each($2))")
        .bind(holder)
        .bind(&sequences)
        .execute(&mut transaction)
        .await?;
        if rows.iter().any(|row| row.has_chunks) {
            Self::next_revision(&mut transaction, holder, 1).await?;
        }
        for feed in rows.iter().filter_map(|row| row.feed_id).collect::<HashSet<_>>() {
            Self::remove_empty_feed(&mut transaction, holder, feed).await?;
        }
        change_references(&mut transaction, FileKind::Artifact, None, &let_go).await?;
        transaction.commit().await?;
        Ok(Purged { count: rows.len() as u64, let_go })
    }

    /// Bins with documents that were deleted before this time.
    pub(crate) async fn bins_before(&self, time: i64) -> kitbag_database::Result<Vec<Holder>> {
        // Without the first condition, SQLite reads all documents in order of their holders.
        let holders: Vec<String> =
            sql("SELECT DISTINCT holder FROM documents WHERE deleted_at IS NOT NULL AND deleted_at < $1")
                .bind(time)
                .fetch_values(self.0.readers())
                .await?;
        Ok(holders.into_iter().map(Holder::from).collect())
    }
}

/// Fails if the holder is a collection that does not exist, or that was deleted, or a user who was ended: its documents
/// would outlast it.
pub(super) async fn expect_there(
    transaction: &mut Transaction,
    holder: &Holder,
) -> Result<(), KnowledgeError> {
    if let Some(user) = holder.user_id() {
        refuse_ended(transaction, user).await?;
    }
    let Some(id) = holder.collection_id() else { return Ok(()) };
    let is_there: bool =
        sql("SELECT EXISTS (SELECT 1 FROM collections WHERE id = $1 AND deleted_at IS NULL)")
            .bind(id)
            .fetch_value(transaction)
            .await?;
    if is_there { Ok(()) } else { Err(CollectionError::Unknown(id.to_owned()).into()) }
}

/// The next chosen documents of a holder, in order of their sequence numbers.
async fn chosen_rows(
    executor: impl Into<Executor<'_>>,
    holder: &Holder,
    chosen: &Chosen,
    after: i64,
) -> kitbag_database::Result<Vec<Row>> {
    let mut statement = StatementBuilder::new(
        "SELECT d.sequence, d.id, d.title, d.source, d.feed_id, f.key AS feed_key, f.name AS feed_name,
             f.label AS feed_label, d.identity,
             EXISTS (SELECT 1 FROM chunks c WHERE c.document = d.sequence) AS has_chunks
         FROM documents d LEFT JOIN feeds f ON f.id = d.feed_id WHERE d.holder = ",
    );
    statement.push_bind(holder).push(" AND d.sequence > ").push_bind(after);
    match chosen {
        Chosen::Ids(ids) => {
            statement.push(" AND d.id IN (SELECT value FROM json_each(").push_bind(list(ids)).push("))");
        }
        Chosen::Feed { source, key } => {
            statement.push(" AND d.source = ").push_bind(source).push(" AND f.key = ").push_bind(key);
        }
        Chosen::Source(source) => {
            statement.push(" AND d.source = ").push_bind(source);
        }
        Chosen::DeletedBefore(time) => {
            statement.push(" AND d.deleted_at < ").push_bind(*time);
        }
        Chosen::All => {}
    }
    statement.push(" ORDER BY d.sequence LIMIT ").push_bind(as_i64(BATCH));
    statement.build().fetch_all(executor).await
}

/// Creates the feeds of the documents in the target. Returns their ids there, by their ids now.
async fn target_feeds(
    transaction: &mut Transaction,
    to: &Holder,
    rows: &[Row],
) -> kitbag_database::Result<HashMap<i64, i64>> {
    let feeds: BTreeMap<_, _> = rows.iter().filter_map(|row| Some((row.feed_id?, row))).collect();
    let mut ids = HashMap::new();
    for (feed, row) in feeds {
        sql("INSERT INTO feeds (holder, source, key, name, label) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (holder, source, key) DO NOTHING")
        .bind(to)
        .bind(&row.source)
        .bind(&row.feed_key)
        .bind(&row.feed_name)
        .bind(&row.feed_label)
        .execute(&mut *transaction)
        .await?;
        let id: i64 = sql("SELECT id FROM feeds WHERE holder = $1 AND source = $2 AND key = $3")
            .bind(to)
            .bind(&row.source)
            .bind(&row.feed_key)
            .fetch_value(&mut *transaction)
            .await?;
        ids.insert(feed, id);
    }
    Ok(ids)
}

/// Splits documents into those that may move, and those that the target has already. A bin may have any number of the
/// same.
async fn without_conflicts(
    transaction: &mut Transaction,
    to: &Holder,
    rows: Vec<Row>,
    feeds: &HashMap<i64, i64>,
) -> kitbag_database::Result<(Vec<Row>, Vec<Conflict>)> {
    if to.is_bin() {
        return Ok((rows, Vec::new()));
    }
    let mut moving = Vec::with_capacity(rows.len());
    let mut conflicts = Vec::new();
    let mut identities = HashSet::new();
    for row in rows {
        let feed = row.feed_id.and_then(|feed| feeds.get(&feed)).copied().unwrap_or_default();
        let existing: Option<String> = sql("SELECT id FROM documents
             WHERE holder = $1 AND source = $2 AND COALESCE(feed_id, 0) = $3 AND identity = $4
                 AND deleted_at IS NULL")
        .bind(to)
        .bind(&row.source)
        .bind(feed)
        .bind(&row.identity)
        .fetch_optional_value(&mut *transaction)
        .await?;
        // Of the same documents in a bin, the first one moves.
        let is_first = identities.insert((row.source.clone(), feed, row.identity.clone()));
        if existing.is_none() && is_first {
            moving.push(row);
        } else {
            conflicts.push(Conflict { id: row.id, title: row.title, existing });
        }
    }
    Ok((moving, conflicts))
}

/// Gives the documents to the target, where they come last.
async fn move_rows(
    transaction: &mut Transaction,
    Move { to, by, .. }: Move<'_>,
    rows: &[Row],
    feeds: &HashMap<i64, i64>,
) -> kitbag_database::Result<()> {
    let last: i64 = sql("SELECT COALESCE(MAX(number), 0) FROM documents WHERE holder = $1")
        .bind(to)
        .fetch_value(&mut *transaction)
        .await?;
    let deleted_at = to.is_bin().then(now);
    for (row, number) in rows.iter().zip(last + 1..) {
        let feed = row.feed_id.and_then(|feed| feeds.get(&feed)).copied();
        sql("UPDATE documents SET holder = $1, number = $2, feed_id = $3, deleted_at = $4, deleted_by = $5,
                 revision = revision + 1
             WHERE sequence = $6")
        .bind(to)
        .bind(number)
        .bind(feed)
        .bind(deleted_at)
        .bind(deleted_at.map(|_| by))
        .bind(row.sequence)
        .execute(&mut *transaction)
        .await?;
    }
    Ok(())
}

/// Ends the jobs of documents that go to a bin, begins those of documents that come from one, and takes others along.
/// Returns the kinds of new jobs.
async fn move_jobs(
    transaction: &mut Transaction,
    Move { from, to, model, .. }: Move<'_>,
    sequences: &str,
) -> kitbag_database::Result<Vec<Kind>> {
    if to.is_bin() {
        sql("DELETE FROM knowledge_jobs WHERE document IN (SELECT CAST(value AS BIGINT) FROM json_each($1))")
            .bind(sequences)
            .execute(transaction)
            .await?;
        return Ok(Vec::new());
    }
    if !from.is_bin() {
        sql("UPDATE knowledge_jobs SET holder = $2, taken_by = NULL
             WHERE document IN (SELECT CAST(value AS BIGINT) FROM json_each($1))")
        .bind(sequences)
        .bind(to)
        .execute(transaction)
        .await?;
        return Ok(vec![Kind::Capture, Kind::Index, Kind::Embed]);
    }
    sql("INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at)
         SELECT d.sequence, $2, CASE WHEN d.state = 'ready' THEN 'embed'
             WHEN d.captured IS NULL AND (d.file_url IS NOT NULL OR d.artifact IS NOT NULL) THEN 'capture'
             ELSE 'index' END, 0, $3
         FROM documents d
         WHERE d.sequence IN (SELECT CAST(value AS BIGINT) FROM json_each($1)) AND (d.state = 'pending'
             OR (d.state = 'ready' AND CAST($4 AS TEXT) IS NOT NULL AND EXISTS (
                 SELECT 1 FROM chunks c WHERE c.document = d.sequence AND c.model IS DISTINCT FROM $4)))
         ON CONFLICT (document) DO NOTHING")
    .bind(sequences)
    .bind(to)
    .bind(now())
    .bind(model)
    .execute(transaction)
    .await?;
    Ok(vec![Kind::Capture, Kind::Index, Kind::Embed])
}
