//! What is still to be done for documents: at most one job each, first `capture`, then `index`, then
//! `embed`.
//!
//! Invariant: whatever a job has done is written together with what becomes of the job, and only to the
//! revision of the document that it began with.

use sqlx::{AssertSqlSafe, FromRow, SqliteConnection};

use super::chunks::is_current;
use super::documents::body;
use super::rows::artifact;
use super::usage::usage;
use super::{Store, as_i64, now};
use crate::knowledge::document::Artifact;
use crate::knowledge::ingest::ValidDocument;
use crate::knowledge::quota::QuotaExceeded;

/// What is to be done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::knowledge) enum Kind {
    /// Fetch the file, keep it, read its text.
    Capture,
    /// Split the body into chunks.
    Index,
    /// Give the chunks their vectors.
    Embed,
}

impl Kind {
    pub(in crate::knowledge) fn as_str(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Index => "index",
            Self::Embed => "embed",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Capture, Self::Index, Self::Embed].into_iter().find(|kind| kind.as_str() == name)
    }

    /// The first job of a document.
    pub(super) fn first(document: &ValidDocument) -> Self {
        if document.has_file() { Self::Capture } else { Self::Index }
    }
}

/// A job that is due.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub(in crate::knowledge) struct Job {
    /// The document's sequence.
    pub(in crate::knowledge) document: i64,
    pub(in crate::knowledge) user_id: String,
    pub(in crate::knowledge) tries: u32,
    /// The document's, when the job was taken.
    pub(in crate::knowledge) revision: i64,
}

/// How a document failed for good.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::knowledge) struct Failed<'f> {
    /// For a person.
    pub(in crate::knowledge) reason: &'f str,
    /// What the server lacked, where that was it.
    pub(in crate::knowledge) lacking: Option<&'static str>,
    /// The file, where it could be kept.
    pub(in crate::knowledge) artifact: Option<&'f Artifact>,
}

/// A document as jobs see it.
#[derive(Clone, Debug)]
pub(in crate::knowledge) struct Subject {
    pub(in crate::knowledge) revision: i64,
    pub(in crate::knowledge) title: String,
    pub(in crate::knowledge) url: Option<String>,
    pub(in crate::knowledge) author: Option<String>,
    pub(in crate::knowledge) file_url: Option<String>,
    pub(in crate::knowledge) claimed_type: Option<String>,
    pub(in crate::knowledge) capture_only: bool,
    /// The file, where it is here already.
    pub(in crate::knowledge) artifact: Option<Artifact>,
    /// What was given, and then what was read from the file.
    pub(in crate::knowledge) body: String,
}

#[derive(FromRow)]
struct SubjectRow {
    revision: i64,
    title: String,
    url: Option<String>,
    author: Option<String>,
    file_url: Option<String>,
    claimed_type: Option<String>,
    capture_only: bool,
    artifact: Option<String>,
    artifact_size: Option<i64>,
    artifact_type: Option<String>,
    text: String,
    captured: Option<String>,
}

/// The users with jobs of a kind, one step in the index each, however many jobs they have.
const USERS: &str = "users (user_id) AS (
    SELECT MIN(user_id) FROM knowledge_jobs WHERE kind = ?1
    UNION ALL
    SELECT (SELECT MIN(j.user_id) FROM knowledge_jobs j WHERE j.kind = ?1 AND j.user_id > users.user_id)
    FROM users WHERE users.user_id IS NOT NULL)";

impl Store {
    /// Jobs of a kind that are due, at most `limit`: of as many users as there are, from the one that
    /// comes after `last_user` on, the same number of each. First comes the first job of each user, then
    /// the second of each, and so on: whoever takes only some has been fair as well.
    pub(in crate::knowledge) async fn due(
        &self,
        kind: Kind,
        last_user: &str,
        limit: usize,
    ) -> sqlx::Result<Vec<Job>> {
        let now = now();
        let sql = format!(
            "WITH RECURSIVE {USERS}
             SELECT user_id FROM users WHERE user_id IS NOT NULL AND EXISTS (
                 SELECT 1 FROM knowledge_jobs j
                 WHERE j.kind = ?1 AND j.user_id = users.user_id AND j.run_at <= ?2)
             ORDER BY user_id <= ?3, user_id LIMIT ?4"
        );
        let users: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(kind.as_str())
            .bind(now)
            .bind(last_user)
            .bind(as_i64(limit))
            .fetch_all(&self.0.readers)
            .await?;
        let share = limit.checked_div(users.len()).unwrap_or_default();
        let mut ranked = Vec::with_capacity(limit);
        for user in users {
            let of_user: Vec<Job> = sqlx::query_as(
                "SELECT j.document, j.user_id, j.tries, d.revision
                 FROM knowledge_jobs j JOIN documents d ON d.sequence = j.document AND d.user_id = j.user_id
                 WHERE j.kind = ?1 AND j.user_id = ?2 AND j.run_at <= ?3
                 ORDER BY j.run_at, j.document LIMIT ?4",
            )
            .bind(kind.as_str())
            .bind(user)
            .bind(now)
            .bind(as_i64(share))
            .fetch_all(&self.0.readers)
            .await?;
            ranked.extend(of_user.into_iter().enumerate());
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        Ok(ranked.into_iter().map(|(_, job)| job).collect())
    }

    /// When the next job of a kind is due, later than `after`; nothing where there is none.
    pub(in crate::knowledge) async fn next_due(&self, kind: Kind, after: i64) -> sqlx::Result<Option<i64>> {
        let sql = format!(
            "WITH RECURSIVE {USERS}
             SELECT MIN((SELECT MIN(j.run_at) FROM knowledge_jobs j
                         WHERE j.kind = ?1 AND j.user_id = users.user_id AND j.run_at > ?2)) FROM users"
        );
        sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(kind.as_str())
            .bind(after)
            .fetch_one(&self.0.readers)
            .await
    }

    /// The document of a job, unless it is gone.
    pub(in crate::knowledge) async fn subject(&self, job: &Job) -> sqlx::Result<Option<Subject>> {
        let row: Option<SubjectRow> = sqlx::query_as(
            "SELECT revision, title, url, author, file_url, claimed_type, capture_only, artifact,
                    artifact_size, artifact_type, text, captured
             FROM documents WHERE sequence = ? AND user_id = ?",
        )
        .bind(job.document)
        .bind(&job.user_id)
        .fetch_optional(&self.0.readers)
        .await?;
        Ok(row.map(|row| Subject {
            revision: row.revision,
            title: row.title,
            url: row.url,
            author: row.author,
            file_url: row.file_url,
            claimed_type: row.claimed_type,
            capture_only: row.capture_only,
            artifact: artifact(row.artifact, row.artifact_size, row.artifact_type),
            body: body(row.text, row.captured),
        }))
    }

    /// Has everything done now that was put off, or that was under way when the server stopped.
    pub(in crate::knowledge) async fn take_up(&self) -> sqlx::Result<()> {
        sqlx::query("UPDATE knowledge_jobs SET run_at = ?1 WHERE run_at > ?1")
            .bind(now())
            .execute(&self.0.writer)
            .await
            .map(drop)
    }

    /// Counts a try before it is begun, so that one that takes the server with it counts as well, and
    /// keeps others from it until `until`. Returns whether the job is still the one that was taken.
    pub(in crate::knowledge) async fn begin_try(
        &self,
        kind: Kind,
        job: &Job,
        until: i64,
    ) -> sqlx::Result<bool> {
        let mut connection = self.0.writer.acquire().await?;
        put_off(&mut connection, kind, job, job.tries + 1, until).await
    }

    /// Puts off a capture until `run_at`; the next try begins with the file, where it could be kept.
    /// Returns whether the job was still the one that was taken, and the document has the file.
    pub(in crate::knowledge) async fn put_off_capture(
        &self,
        job: &Job,
        artifact: Option<&Artifact>,
        run_at: i64,
    ) -> sqlx::Result<bool> {
        let mut transaction = self.begin().await?;
        let mut keeps_file = put_off(&mut transaction, Kind::Capture, job, job.tries, run_at).await?;
        if let (true, Some(artifact)) = (keeps_file, artifact) {
            keeps_file = self.refer_to(&mut transaction, job, artifact).await?;
        }
        transaction.commit().await?;
        Ok(keeps_file)
    }

    /// Puts jobs off until `run_at`, each with the number of its tries so far.
    pub(in crate::knowledge) async fn put_off(
        &self,
        kind: Kind,
        jobs: &[(Job, u32)],
        run_at: i64,
    ) -> sqlx::Result<()> {
        let mut transaction = self.begin().await?;
        for (job, tries) in jobs {
            put_off(&mut transaction, kind, job, *tries, run_at).await?;
        }
        transaction.commit().await
    }

    /// Gives a document up. What failed to be captured is indexed all the same, by what is known of it.
    /// Returns whether it was still wanted, and the document has the file.
    pub(in crate::knowledge) async fn give_up(
        &self,
        kind: Kind,
        job: &Job,
        failed: Failed<'_>,
    ) -> sqlx::Result<bool> {
        let Failed { reason, lacking, artifact } = failed;
        let mut transaction = self.begin().await?;
        if !is_current(&mut transaction, job).await? {
            return Ok(false);
        }
        // That a file was not captured says more than that what is known of it was not indexed, and has
        // it captured later. What is ready stays so when another model does not take it.
        sqlx::query(
            "UPDATE documents SET state = 'failed', failed_job = ?1, reason = ?2, lacking = ?3
             WHERE sequence = ?4 AND user_id = ?5 AND (?1 = 'capture' OR failed_job IS NOT 'capture')
               AND NOT (?1 = 'embed' AND state = 'ready')",
        )
        .bind(kind.as_str())
        .bind(reason)
        .bind(lacking)
        .bind(job.document)
        .bind(&job.user_id)
        .execute(&mut *transaction)
        .await?;
        let keeps_file = match artifact {
            Some(artifact) => self.refer_to(&mut transaction, job, artifact).await?,
            None => true,
        };
        let next = (kind == Kind::Capture).then_some(Kind::Index);
        Self::advance(&mut transaction, job, next).await?;
        transaction.commit().await?;
        Ok(keeps_file)
    }

    /// Keeps what was captured, unless that leads beyond its user's quota; the document is indexed next.
    /// Returns whether it was still wanted.
    pub(in crate::knowledge) async fn keep_captured(
        &self,
        job: &Job,
        artifact: &Artifact,
        title: Option<&str>,
        text: Option<&str>,
    ) -> sqlx::Result<Result<bool, QuotaExceeded>> {
        let mut transaction = self.begin().await?;
        let before = usage(&mut transaction, &job.user_id).await?;
        let kept = sqlx::query(
            "UPDATE documents SET artifact = ?, artifact_size = ?, artifact_type = ?, captured = ?,
                 title = ifnull(?, title), revision = revision + 1
             WHERE sequence = ? AND user_id = ? AND revision = ?",
        )
        .bind(&artifact.digest)
        .bind(as_i64(artifact.size))
        .bind(&artifact.media_type)
        .bind(text)
        .bind(title)
        .bind(job.document)
        .bind(&job.user_id)
        .bind(job.revision)
        .execute(&mut *transaction)
        .await?
        .rows_affected()
            > 0;
        if kept {
            if let Err(exceeded) = self.check_quota(&mut transaction, &job.user_id, before).await? {
                return Ok(Err(exceeded));
            }
            Self::advance(&mut transaction, job, Some(Kind::Index)).await?;
        }
        transaction.commit().await?;
        Ok(Ok(kept))
    }

    /// Has every document embedded whose chunks another model has embedded, or none; at most `limit` of
    /// them. Returns how many; they stay in the state that they are in.
    pub(in crate::knowledge) async fn embed_again(&self, model: &str, limit: usize) -> sqlx::Result<u64> {
        // `IS NOT` would read the whole index; these three each read what they find.
        let queued = sqlx::query(
            "INSERT INTO knowledge_jobs (document, user_id, kind, tries, run_at)
             SELECT d.sequence, d.user_id, 'embed', 0, ?2 FROM (
                 SELECT document FROM chunks WHERE model IS NULL
                 UNION SELECT document FROM chunks WHERE model < ?1
                 UNION SELECT document FROM chunks WHERE model > ?1) old
             JOIN documents d ON d.sequence = old.document
             WHERE NOT EXISTS (SELECT 1 FROM knowledge_jobs j WHERE j.document = d.sequence)
             LIMIT ?3",
        )
        .bind(model)
        .bind(now())
        .bind(as_i64(limit))
        .execute(&self.0.writer)
        .await?;
        Ok(queued.rows_affected())
    }

    /// Ends jobs that wait for a model where there is none: such a document is found by its words.
    pub(in crate::knowledge) async fn do_without_model(&self) -> sqlx::Result<()> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "UPDATE documents SET state = 'ready' WHERE state = 'pending'
             AND sequence IN (SELECT document FROM knowledge_jobs WHERE kind = 'embed')",
        )
        .execute(&mut *transaction)
        .await?;
        sqlx::query("DELETE FROM knowledge_jobs WHERE kind = 'embed'").execute(&mut *transaction).await?;
        transaction.commit().await
    }

    /// Captures again what failed because the server lacked something.
    pub(in crate::knowledge) async fn capture_again(&self, lacking: &str) -> sqlx::Result<u64> {
        let mut transaction = self.begin().await?;
        sqlx::query(
            "INSERT INTO knowledge_jobs (document, user_id, kind, tries, run_at)
             SELECT sequence, user_id, 'capture', 0, ?2 FROM documents WHERE lacking = ?1
             ON CONFLICT (document) DO UPDATE SET kind = 'capture', tries = 0, run_at = excluded.run_at",
        )
        .bind(lacking)
        .bind(now())
        .execute(&mut *transaction)
        .await?;
        let again = sqlx::query(
            "UPDATE documents SET state = 'pending', failed_job = NULL, reason = NULL, lacking = NULL,
                 revision = revision + 1
             WHERE lacking = ?",
        )
        .bind(lacking)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(again.rows_affected())
    }

    /// Has something done for a document. A file that is still to be captured comes first.
    pub(super) async fn put_job(
        transaction: &mut SqliteConnection,
        user_id: &str,
        document: i64,
        kind: Kind,
        now: i64,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "INSERT INTO knowledge_jobs (document, user_id, kind, tries, run_at) VALUES (?1, ?2, ?3, 0, ?4)
             ON CONFLICT (document) DO UPDATE SET tries = 0, run_at = excluded.run_at,
                 kind = CASE WHEN kind = 'capture' AND EXISTS (
                     SELECT 1 FROM documents
                     WHERE sequence = ?1 AND user_id = ?2 AND (file_url IS NOT NULL OR artifact IS NOT NULL))
                 THEN 'capture' ELSE excluded.kind END",
        )
        .bind(document)
        .bind(user_id)
        .bind(kind.as_str())
        .bind(now)
        .execute(transaction)
        .await
        .map(drop)
    }

    /// Goes on with the next kind of job, or with none.
    pub(super) async fn advance(
        transaction: &mut SqliteConnection,
        job: &Job,
        next: Option<Kind>,
    ) -> sqlx::Result<()> {
        let statement = match next {
            Some(kind) => sqlx::query(
                "UPDATE knowledge_jobs SET kind = ?3, tries = 0, run_at = ?4 WHERE document = ?1 AND user_id = ?2",
            )
            .bind(job.document)
            .bind(&job.user_id)
            .bind(kind.as_str())
            .bind(now()),
            None => sqlx::query("DELETE FROM knowledge_jobs WHERE document = ? AND user_id = ?")
                .bind(job.document)
                .bind(&job.user_id),
        };
        statement.execute(transaction).await.map(drop)
    }
}

impl Store {
    /// Notes that a document has a captured file, unless that leads beyond its user's quota. Returns whether
    /// it has it.
    async fn refer_to(
        &self,
        connection: &mut SqliteConnection,
        job: &Job,
        artifact: &Artifact,
    ) -> sqlx::Result<bool> {
        let before = usage(&mut *connection, &job.user_id).await?;
        put_artifact(connection, job, Some(artifact)).await?;
        let fits = self.check_quota(connection, &job.user_id, before).await?.is_ok();
        if !fits {
            // One that it had before would be the same, and no more bytes.
            put_artifact(connection, job, None).await?;
        }
        Ok(fits)
    }
}

async fn put_artifact(
    connection: &mut SqliteConnection,
    job: &Job,
    artifact: Option<&Artifact>,
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE documents SET artifact = ?, artifact_size = ?, artifact_type = ?
         WHERE sequence = ? AND user_id = ?",
    )
    .bind(artifact.map(|file| file.digest.as_str()))
    .bind(artifact.map(|file| as_i64(file.size)))
    .bind(artifact.map(|file| file.media_type.as_str()))
    .bind(job.document)
    .bind(&job.user_id)
    .execute(connection)
    .await
    .map(drop)
}

/// Returns whether the job was still the one that was taken.
async fn put_off(
    connection: &mut SqliteConnection,
    kind: Kind,
    job: &Job,
    tries: u32,
    run_at: i64,
) -> sqlx::Result<bool> {
    let put_off = sqlx::query(
        "UPDATE knowledge_jobs SET tries = ?5, run_at = ?6 WHERE document = ?1 AND user_id = ?2 AND kind = ?3
         AND EXISTS (SELECT 1 FROM documents WHERE sequence = ?1 AND user_id = ?2 AND revision = ?4)",
    )
    .bind(job.document)
    .bind(&job.user_id)
    .bind(kind.as_str())
    .bind(job.revision)
    .bind(tries)
    .bind(run_at)
    .execute(connection)
    .await?;
    Ok(put_off.rows_affected() > 0)
}
