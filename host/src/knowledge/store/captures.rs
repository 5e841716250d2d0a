//! Captures: how often each was begun, and the file and the text that came of it. A file counts for its
//! user's quota.

use sqlx::SqliteConnection;

use super::jobs::{Job, Kind, put_off};
use super::usage::usage;
use super::{Store, as_i64, now};
use crate::database;
use crate::knowledge::document::Artifact;
use crate::knowledge::quota::QuotaExceeded;

impl Store {
    /// Counts a try before it is begun, so that one that takes the server with it counts as well, and
    /// keeps others from it until `until`. Returns whether the job is still the one that was taken.
    pub(in crate::knowledge) async fn begin_try(
        &self,
        kind: Kind,
        job: &Job,
        until: i64,
    ) -> database::Result<bool> {
        let mut transaction = self.0.begin().await?;
        let is_current = put_off(&mut transaction, kind, job, job.tries + 1, until).await?;
        transaction.commit().await?;
        Ok(is_current)
    }

    /// Puts off a capture until `run_at`; the next try begins with the file, where it could be kept.
    /// Returns whether the job was still the one that was taken, and the document has the file.
    pub(in crate::knowledge) async fn put_off_capture(
        &self,
        job: &Job,
        artifact: Option<&Artifact>,
        run_at: i64,
    ) -> database::Result<bool> {
        let mut transaction = self.0.begin().await?;
        let mut keeps_file = put_off(&mut transaction, Kind::Capture, job, job.tries, run_at).await?;
        if let (true, Some(artifact)) = (keeps_file, artifact) {
            keeps_file = self.refer_to(&mut transaction, job, artifact).await?;
        }
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
    ) -> database::Result<Result<bool, QuotaExceeded>> {
        let mut transaction = self.0.begin().await?;
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

    /// Captures again what failed because the server lacked something.
    pub(in crate::knowledge) async fn capture_again(&self, dependency: &str) -> database::Result<u64> {
        let mut transaction = self.0.begin().await?;
        sqlx::query(
            "INSERT INTO knowledge_jobs (document, user_id, kind, tries, run_at)
             SELECT sequence, user_id, 'capture', 0, ?2 FROM documents WHERE lacking = ?1
             ON CONFLICT (document) DO UPDATE SET kind = 'capture', tries = 0, run_at = excluded.run_at",
        )
        .bind(dependency)
        .bind(now())
        .execute(&mut *transaction)
        .await?;
        let again = sqlx::query(
            "UPDATE documents SET state = 'pending', failed_job = NULL, reason = NULL, lacking = NULL,
                 revision = revision + 1
             WHERE lacking = ?",
        )
        .bind(dependency)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(again.rows_affected())
    }

    /// Notes that a document has a captured file, unless that leads beyond its user's quota. Returns whether
    /// it has it.
    pub(super) async fn refer_to(
        &self,
        connection: &mut SqliteConnection,
        job: &Job,
        artifact: &Artifact,
    ) -> database::Result<bool> {
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
) -> database::Result<()> {
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
    .await?;
    Ok(())
}
