//! Pending jobs of documents: at most one per document, first `capture`, then `index`, then `embed`.
//!
//! Invariants:
//! - a process runs only jobs that it has claimed, and no job is claimed by two;
//! - the results of a job are written in one transaction with its next state, only if the document still has
//!   the revision at which the job started, and only while the job is still claimed by the process.

use kitbag_database::{AssertSqlSafe, Executor, FromRow, Holder, Scope, Transaction, list, sql};

use super::{Store, as_i64, now};
use crate::document_file::DocumentFile;
use crate::ingest::ValidDocument;

/// Kinds of jobs, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Download the file, store it, read its text.
    Capture,
    /// Split the body into chunks.
    Index,
    /// Embed the chunks.
    Embed,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Index => "index",
            Self::Embed => "embed",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Capture, Self::Index, Self::Embed].into_iter().find(|kind| kind.as_str() == name)
    }

    /// Kind of a new document's first job.
    pub(super) fn first(document: &ValidDocument) -> Self {
        if document.has_file() { Self::Capture } else { Self::Index }
    }
}

/// Due job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Sequence number of the document.
    pub(crate) document: i64,
    pub(crate) holder: Holder,
    pub(crate) tries: i64,
    /// Revision of the document when the job was claimed.
    pub(crate) revision: i64,
    /// Id of the process that has claimed the job; nothing is written for a job without one.
    pub(crate) taken_by: Option<String>,
}

/// Permanent failure of a document.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Failed<'f> {
    /// Message for the user.
    pub(crate) reason: &'f str,
    /// Missing dependency of the server, if that was the cause.
    pub(crate) missing_dependency: Option<&'static str>,
    /// File, if it could be stored.
    pub(crate) file: Option<&'f DocumentFile>,
}

/// SQL for the holders with free jobs of a kind: one index seek per holder, however many jobs there are.
const HOLDERS: &str = "holders (holder) AS (
    SELECT MIN(holder) FROM knowledge_jobs WHERE kind = $1 AND taken_by IS NULL
    UNION ALL
    SELECT (SELECT MIN(j.holder) FROM knowledge_jobs j
            WHERE j.kind = $1 AND j.taken_by IS NULL AND j.holder > holders.holder)
    FROM holders WHERE holders.holder IS NOT NULL)";

#[derive(FromRow)]
struct JobRow {
    document: i64,
    holder: String,
    tries: i64,
    revision: i64,
    taken_by: Option<String>,
}

impl From<JobRow> for Job {
    fn from(JobRow { document, holder, tries, revision, taken_by }: JobRow) -> Self {
        Self { document, holder: holder.into(), tries, revision, taken_by }
    }
}

/// Job that was just claimed.
#[derive(FromRow)]
struct Taken {
    run_at: i64,
    #[sqlx(flatten)]
    job: JobRow,
}

impl Store {
    /// Free jobs of a kind that are due, at most `limit`: the same number for each of as many holders as
    /// possible, starting after the holder with the key `last_holder`. First comes one job of each holder, then the second of each, and
    /// so on: any prefix is fair, too.
    pub(crate) async fn due(
        &self,
        kind: Kind,
        last_holder: &str,
        limit: usize,
    ) -> kitbag_database::Result<Vec<Job>> {
        let now = now();
        let holders = holders(self.0.readers(), kind, last_holder, now, limit).await?;
        let share = limit.checked_div(holders.len()).unwrap_or_default();
        let mut ranked = Vec::with_capacity(limit);
        for holder in holders {
            let of_holder: Vec<JobRow> = sql("SELECT j.document, j.holder, j.tries, j.taken_by, d.revision
                 FROM knowledge_jobs j JOIN documents d ON d.sequence = j.document AND d.holder = j.holder
                 WHERE j.kind = $1 AND j.holder = $2 AND j.run_at <= $3 AND j.taken_by IS NULL
                 ORDER BY j.run_at, j.document LIMIT $4")
            .bind(kind.as_str())
            .bind(&holder)
            .bind(now)
            .bind(as_i64(share))
            .fetch_all(self.0.readers())
            .await?;
            ranked.extend(of_holder.into_iter().map(Job::from).enumerate());
        }
        Ok(in_turn(ranked))
    }

    /// Claims the jobs of a kind that [`due`](Self::due) would return for the process `me`. Unfinished jobs
    /// of that kind that it claimed before are released first: a process claims these kinds one batch after
    /// the other.
    pub(crate) async fn take(
        &self,
        kind: Kind,
        me: &str,
        last_holder: &str,
        limit: usize,
    ) -> kitbag_database::Result<Vec<Job>> {
        let now = now();
        let mut transaction = self.0.begin(Scope::Jobs).await?;
        self.free(&mut transaction, kind, me, &[], 0).await?;
        let holders = holders(&mut transaction, kind, last_holder, now, limit).await?;
        let share = limit.checked_div(holders.len()).unwrap_or_default();
        let mut ranked = Vec::with_capacity(limit);
        for holder in holders {
            let statement = format!(
                "WITH next AS (
                     SELECT document FROM knowledge_jobs
                     WHERE kind = $1 AND holder = $2 AND run_at <= $3 AND taken_by IS NULL
                     ORDER BY run_at, document LIMIT $4 {})
                 UPDATE knowledge_jobs SET taken_by = $5 FROM next
                 WHERE knowledge_jobs.document = next.document
                 RETURNING knowledge_jobs.document AS document, knowledge_jobs.holder AS holder,
                     knowledge_jobs.tries AS tries, knowledge_jobs.taken_by AS taken_by,
                     knowledge_jobs.run_at AS run_at,
                     (SELECT d.revision FROM documents d WHERE d.sequence = knowledge_jobs.document) AS revision",
                self.0.skipping_locked()
            );
            let mut of_holder: Vec<Taken> = sql(AssertSqlSafe(statement))
                .bind(kind.as_str())
                .bind(&holder)
                .bind(now)
                .bind(as_i64(share))
                .bind(me)
                .fetch_all(&mut transaction)
                .await?;
            of_holder.sort_by_key(|taken| (taken.run_at, taken.job.document));
            ranked.extend(of_holder.into_iter().map(|taken| Job::from(taken.job)).enumerate());
        }
        transaction.commit().await?;
        Ok(in_turn(ranked))
    }

    /// Releases the jobs of a kind that the process `me` has claimed, except those of the documents
    /// `under_way`. They become due at `run_at`, or later if they were due later.
    pub(crate) async fn give_back(
        &self,
        kind: Kind,
        me: &str,
        under_way: &[i64],
        run_at: i64,
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Jobs).await?;
        self.free(&mut transaction, kind, me, under_way, run_at).await?;
        transaction.commit().await
    }

    async fn free(
        &self,
        transaction: &mut Transaction,
        kind: Kind,
        me: &str,
        under_way: &[i64],
        run_at: i64,
    ) -> kitbag_database::Result<()> {
        let statement = format!(
            "WITH mine AS (
                 SELECT document FROM knowledge_jobs WHERE taken_by = $1 AND kind = $2
                     AND document NOT IN (SELECT CAST(value AS BIGINT) FROM json_each($3)) {})
             UPDATE knowledge_jobs SET taken_by = NULL, run_at = CASE WHEN run_at < $4 THEN $4 ELSE run_at END
             FROM mine WHERE knowledge_jobs.document = mine.document",
            self.0.skipping_locked()
        );
        sql(AssertSqlSafe(statement))
            .bind(me)
            .bind(kind.as_str())
            .bind(list(under_way))
            .bind(run_at)
            .execute(transaction)
            .await?;
        Ok(())
    }

    /// Earliest time after `after` at which a free job of a kind is due; `None` if there is none.
    pub(crate) async fn next_due(&self, kind: Kind, after: i64) -> kitbag_database::Result<Option<i64>> {
        let statement = format!(
            "WITH RECURSIVE {HOLDERS}
             SELECT MIN((SELECT MIN(j.run_at) FROM knowledge_jobs j
                         WHERE j.kind = $1 AND j.holder = holders.holder AND j.run_at > $2
                             AND j.taken_by IS NULL)) FROM holders"
        );
        sql(AssertSqlSafe(statement)).bind(kind.as_str()).bind(after).fetch_value(self.0.readers()).await
    }

    /// Makes all postponed jobs due now.
    pub(crate) async fn take_up(&self) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        sql("UPDATE knowledge_jobs SET run_at = $1 WHERE run_at > $1")
            .bind(now())
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }

    /// Postpones jobs until `run_at`, each with its number of tries so far.
    pub(crate) async fn put_off(
        &self,
        kind: Kind,
        jobs: &[(Job, i64)],
        run_at: i64,
    ) -> kitbag_database::Result<()> {
        let holders: Vec<_> = jobs.iter().map(|(job, _)| &job.holder).collect();
        let mut transaction = self.0.begin(Scope::Holders(&holders)).await?;
        for (job, tries) in jobs {
            put_off(&mut transaction, kind, job, *tries, run_at).await?;
        }
        transaction.commit().await
    }

    /// Marks a document as permanently failed. After a failed capture it is indexed by its metadata. Returns
    /// whether the job was still current, and the document now refers to the file.
    pub(crate) async fn give_up(
        &self,
        kind: Kind,
        job: &Job,
        failed: Failed<'_>,
    ) -> kitbag_database::Result<bool> {
        let Failed { reason, missing_dependency, file } = failed;
        let mut transaction = self.0.begin(Scope::Holders(&[&job.holder])).await?;
        if !is_current(&mut transaction, job).await? {
            return Ok(false);
        }
        // A capture failure is not replaced by an indexing failure: it says more, and leads to a later
        // capture. A ready document stays ready if another model cannot embed it.
        sql("UPDATE documents SET state = 'failed', failed_job = $1, reason = $2, lacking = $3
             WHERE sequence = $4 AND holder = $5 AND ($1 = 'capture' OR failed_job IS DISTINCT FROM 'capture')
               AND NOT ($1 = 'embed' AND state = 'ready')")
        .bind(kind.as_str())
        .bind(reason)
        .bind(missing_dependency)
        .bind(job.document)
        .bind(&job.holder)
        .execute(&mut transaction)
        .await?;
        let keeps_file = match file {
            Some(file) => self.refer_to(&mut transaction, job, file).await?,
            None => true,
        };
        let next = (kind == Kind::Capture).then_some(Kind::Index);
        Self::advance(&mut transaction, job, next).await?;
        transaction.commit().await?;
        Ok(keeps_file)
    }

    /// Queues `embed` jobs for at most `limit` documents after the document `after` that have chunks embedded
    /// by the model `old` (`None`: by no model). Their state does not change. Returns the last document;
    /// `None` if there are no more.
    pub(crate) async fn embed_again(
        &self,
        old: Option<&str>,
        after: i64,
        limit: usize,
    ) -> kitbag_database::Result<Option<i64>> {
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        // Each variant seeks in the index; a single condition for both would scan it.
        let is_old = if old.is_some() { "model = $1" } else { "model IS NULL AND CAST($1 AS TEXT) IS NULL" };
        let statement = format!(
            "SELECT DISTINCT document FROM chunks WHERE {is_old} AND document > $2 ORDER BY document LIMIT $3"
        );
        let documents: Vec<i64> = sql(AssertSqlSafe(statement))
            .bind(old)
            .bind(after)
            .bind(as_i64(limit))
            .fetch_values(&mut transaction)
            .await?;
        sql("INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at)
             SELECT d.sequence, d.holder, 'embed', 0, $2
             FROM json_each($1) old CROSS JOIN documents d WHERE d.sequence = CAST(old.value AS BIGINT)
             ON CONFLICT (document) DO NOTHING")
        .bind(list(&documents))
        .bind(now())
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(documents.last().copied())
    }

    /// Whether more than `count` jobs of a kind are free, including postponed ones.
    pub(crate) async fn has_free(&self, kind: Kind, count: usize) -> kitbag_database::Result<bool> {
        sql("SELECT EXISTS (
                 SELECT 1 FROM knowledge_jobs WHERE kind = $1 AND taken_by IS NULL LIMIT 1 OFFSET $2)")
        .bind(kind.as_str())
        .bind(as_i64(count))
        .fetch_value(self.0.readers())
        .await
    }

    /// Ends jobs that wait for a model when none is configured: their documents are found by full text.
    pub(crate) async fn do_without_model(&self) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        sql("UPDATE documents SET state = 'ready' WHERE state = 'pending'
             AND sequence IN (SELECT document FROM knowledge_jobs WHERE kind = 'embed')")
        .execute(&mut transaction)
        .await?;
        sql("DELETE FROM knowledge_jobs WHERE kind = 'embed'").execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Number of jobs of each kind, over all holders.
    pub(crate) async fn waiting_jobs(&self) -> kitbag_database::Result<Vec<(&'static str, u64)>> {
        let counts: Vec<(String, i64)> = sql("SELECT kind, COUNT(*) FROM knowledge_jobs GROUP BY kind")
            .fetch_all(self.0.readers())
            .await?;
        let waiting = |kind: Kind| {
            let found = counts.iter().find(|(name, _)| name == kind.as_str());
            found.map_or(0, |(_, count)| u64::try_from(*count).unwrap_or_default())
        };
        Ok([Kind::Capture, Kind::Index, Kind::Embed].map(|kind| (kind.as_str(), waiting(kind))).into())
    }

    /// Queues a job for a document. A pending capture takes precedence. Discards the result of a job that is
    /// already running.
    pub(super) async fn put_job(
        transaction: &mut Transaction,
        holder: &Holder,
        document: i64,
        kind: Kind,
        now: i64,
    ) -> kitbag_database::Result<()> {
        sql("INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at) VALUES ($1, $2, $3, 0, $4)
             ON CONFLICT (document) DO UPDATE SET tries = 0, run_at = excluded.run_at, taken_by = NULL,
                 kind = CASE WHEN knowledge_jobs.kind = 'capture' AND EXISTS (
                     SELECT 1 FROM documents
                     WHERE sequence = $1 AND holder = $2 AND (file_url IS NOT NULL OR artifact IS NOT NULL))
                 THEN 'capture' ELSE excluded.kind END")
        .bind(document)
        .bind(holder)
        .bind(kind.as_str())
        .bind(now)
        .execute(transaction)
        .await?;
        Ok(())
    }

    /// Replaces a job by the next kind, or deletes it if there is none.
    pub(super) async fn advance(
        transaction: &mut Transaction,
        job: &Job,
        next: Option<Kind>,
    ) -> kitbag_database::Result<()> {
        let statement = match next {
            Some(kind) => sql("UPDATE knowledge_jobs SET kind = $3, tries = 0, run_at = $4, taken_by = NULL
                 WHERE document = $1 AND holder = $2")
            .bind(job.document)
            .bind(&job.holder)
            .bind(kind.as_str())
            .bind(now()),
            None => sql("DELETE FROM knowledge_jobs WHERE document = $1 AND holder = $2")
                .bind(job.document)
                .bind(&job.holder),
        };
        statement.execute(transaction).await?;
        Ok(())
    }
}

/// Postpones and releases a job. Returns whether it was still claimed by the same process, and its document
/// unchanged.
pub(super) async fn put_off(
    transaction: &mut Transaction,
    kind: Kind,
    job: &Job,
    tries: i64,
    run_at: i64,
) -> kitbag_database::Result<bool> {
    let put_off = sql("UPDATE knowledge_jobs SET tries = $5, run_at = $6, taken_by = NULL
         WHERE document = $1 AND holder = $2 AND kind = $3 AND taken_by = $7
         AND EXISTS (SELECT 1 FROM documents WHERE sequence = $1 AND holder = $2 AND revision = $4)")
    .bind(job.document)
    .bind(&job.holder)
    .bind(kind.as_str())
    .bind(job.revision)
    .bind(tries)
    .bind(run_at)
    .bind(&job.taken_by)
    .execute(transaction)
    .await?;
    Ok(put_off > 0)
}

/// Keys of holders with free due jobs of a kind: at most `limit`, starting after the holder with the key `last_holder`.
async fn holders(
    executor: impl Into<Executor<'_>>,
    kind: Kind,
    last_holder: &str,
    now: i64,
    limit: usize,
) -> kitbag_database::Result<Vec<String>> {
    let statement = format!(
        "WITH RECURSIVE {HOLDERS}
         SELECT holder FROM holders WHERE holder IS NOT NULL AND EXISTS (
             SELECT 1 FROM knowledge_jobs j
             WHERE j.kind = $1 AND j.holder = holders.holder AND j.run_at <= $2 AND j.taken_by IS NULL)
         ORDER BY holder <= $3, holder LIMIT $4"
    );
    sql(AssertSqlSafe(statement))
        .bind(kind.as_str())
        .bind(now)
        .bind(last_holder)
        .bind(as_i64(limit))
        .fetch_values(executor)
        .await
}

/// Jobs sorted by their rank among the jobs of their holder.
fn in_turn(mut ranked: Vec<(usize, Job)>) -> Vec<Job> {
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, job)| job).collect()
}

/// Whether the document has not changed since the job was claimed, and the job is still claimed by the same
/// process.
pub(super) async fn is_current(transaction: &mut Transaction, job: &Job) -> kitbag_database::Result<bool> {
    sql("SELECT EXISTS (
             SELECT 1 FROM documents d JOIN knowledge_jobs j ON j.document = d.sequence
             WHERE d.sequence = $1 AND d.holder = $2 AND d.revision = $3 AND j.taken_by = $4)")
    .bind(job.document)
    .bind(&job.holder)
    .bind(job.revision)
    .bind(&job.taken_by)
    .fetch_value(transaction)
    .await
}
