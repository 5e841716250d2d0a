//! Captures: number of tries, resulting file and text. A file counts towards its user's quota.

use kitbag_database::{Scope, Transaction, sql};
use kitbag_files::objects::change_references;
use kitbag_files::stored_files::FileKind;

use super::jobs::{Job, Kind, put_off};
use super::usage::usage;
use super::{Store, as_i64, now};
use crate::document::Artifact;
use crate::document_file::DocumentFile;
use crate::quota::QuotaExceeded;

/// Reason why a captured file was not stored with its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unkept {
    /// The user's quota would be exceeded.
    Quota(QuotaExceeded),
    /// The file was deleted meanwhile, and has to be stored again.
    Dropped,
}

/// Result of reading a captured file.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// Title in the file, unless the document keeps its own.
    pub(crate) title: Option<String>,
    /// Text to index; `None` if there is none.
    pub(crate) text: Option<String>,
    /// Encoding that was used to decode the text, unless the file format fixes it.
    pub(crate) encoding: Option<&'static str>,
}

#[cfg(test)]
impl Read {
    /// A title and a text.
    pub(crate) fn titled(title: &str, text: &str) -> Self {
        Self { title: Some(title.to_owned()), text: Some(text.to_owned()), encoding: None }
    }
}

impl Store {
    /// Claims a free job for the process `me`, and counts the try before it starts, so that tries that crash
    /// the server count as well. Returns whether the job was still free and its document unchanged.
    pub(crate) async fn begin_try(
        &self,
        kind: Kind,
        job: &mut Job,
        me: &str,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Holders(&[&job.holder])).await?;
        let taken = sql("UPDATE knowledge_jobs SET tries = $5, taken_by = $6
             WHERE document = $1 AND holder = $2 AND kind = $3 AND taken_by IS NULL
             AND EXISTS (SELECT 1 FROM documents WHERE sequence = $1 AND holder = $2 AND revision = $4)")
        .bind(job.document)
        .bind(&job.holder)
        .bind(kind.as_str())
        .bind(job.revision)
        .bind(job.tries + 1)
        .bind(me)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        job.taken_by = Some(me.to_owned());
        Ok(taken > 0)
    }

    /// Postpones a capture until `run_at`; the next try reuses the file, if it could be stored. Returns
    /// whether the job was still claimed by its process, and the document now refers to the file.
    pub(crate) async fn put_off_capture(
        &self,
        job: &Job,
        file: Option<&DocumentFile>,
        run_at: i64,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Holders(&[&job.holder])).await?;
        let mut keeps_file = put_off(&mut transaction, Kind::Capture, job, job.tries, run_at).await?;
        if let (true, Some(file)) = (keeps_file, file) {
            keeps_file = self.refer_to(&mut transaction, job, file).await?;
        }
        transaction.commit().await?;
        Ok(keeps_file)
    }

    /// Stores the result of a capture, unless that exceeds the holder's quota; the document is indexed next.
    /// Returns whether the job was still current.
    pub(crate) async fn keep_captured(
        &self,
        job: &Job,
        file: &DocumentFile,
        read: &Read,
    ) -> kitbag_database::Result<Result<bool, Unkept>> {
        let artifact = file.artifact();
        let mut transaction = self.0.begin(Scope::Holders(&[&job.holder])).await?;
        let before = usage(&mut transaction, &job.holder).await?;
        let kept =
            sql("UPDATE documents SET artifact = $1, artifact_size = $2, artifact_type = $3, captured = $4,
                 encoding = $10, title = COALESCE($5, title),
                 title_origin = CASE WHEN $5 IS NULL THEN title_origin ELSE 'file' END, revision = revision + 1
             WHERE sequence = $6 AND holder = $7 AND revision = $8
                 AND EXISTS (SELECT 1 FROM knowledge_jobs WHERE document = $6 AND taken_by = $9)")
            .bind(&artifact.digest)
            .bind(as_i64(artifact.size))
            .bind(&artifact.media_type)
            .bind(&read.text)
            .bind(&read.title)
            .bind(job.document)
            .bind(&job.holder)
            .bind(job.revision)
            .bind(&job.taken_by)
            .bind(read.encoding)
            .execute(&mut transaction)
            .await?
                > 0;
        if kept {
            if let Err(exceeded) = self.check_quota(&mut transaction, &job.holder, before).await? {
                return Ok(Err(Unkept::Quota(exceeded)));
            }
            if !is_referred_to(&mut transaction, file).await? {
                return Ok(Err(Unkept::Dropped));
            }
            Self::advance(&mut transaction, job, Some(Kind::Index)).await?;
        }
        transaction.commit().await?;
        Ok(Ok(kept))
    }

    /// Queues captures again that failed for lack of `dependency`, but for documents in a bin. Returns their number.
    pub(crate) async fn capture_again(&self, dependency: &str) -> kitbag_database::Result<u64> {
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        sql("INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at)
             SELECT sequence, holder, 'capture', 0, $2 FROM documents WHERE lacking = $1 AND deleted_at IS NULL
             ON CONFLICT (document) DO UPDATE
             SET kind = 'capture', tries = 0, run_at = excluded.run_at, taken_by = NULL")
        .bind(dependency)
        .bind(now())
        .execute(&mut transaction)
        .await?;
        let again =
            sql("UPDATE documents SET state = 'pending', failed_job = NULL, reason = NULL, lacking = NULL,
                 revision = revision + 1
             WHERE lacking = $1 AND deleted_at IS NULL")
            .bind(dependency)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(again)
    }

    /// Links a captured file to a document, unless that exceeds the holder's quota or the file was deleted
    /// meanwhile. Returns whether the document now refers to the file.
    pub(super) async fn refer_to(
        &self,
        transaction: &mut Transaction,
        job: &Job,
        file: &DocumentFile,
    ) -> kitbag_database::Result<bool> {
        let before = usage(&mut *transaction, &job.holder).await?;
        put_artifact(transaction, job, Some(file.artifact())).await?;
        let fits = self.check_quota(transaction, &job.holder, before).await?.is_ok();
        let has_it = fits && is_referred_to(transaction, file).await?;
        if !has_it {
            // A file that the document had before would be the same one, add no bytes, and not be deleted.
            put_artifact(transaction, job, None).await?;
        }
        Ok(has_it)
    }
}

/// Records the reference to the file. Returns whether the file still exists.
async fn is_referred_to(transaction: &mut Transaction, file: &DocumentFile) -> kitbag_database::Result<bool> {
    change_references(transaction, FileKind::Artifact, file.held(), &[]).await
}

async fn put_artifact(
    transaction: &mut Transaction,
    job: &Job,
    artifact: Option<&Artifact>,
) -> kitbag_database::Result<()> {
    sql("UPDATE documents SET artifact = $1, artifact_size = $2, artifact_type = $3
         WHERE sequence = $4 AND holder = $5")
    .bind(artifact.map(|file| file.digest.as_str()))
    .bind(artifact.map(|file| as_i64(file.size)))
    .bind(artifact.map(|file| file.media_type.as_str()))
    .bind(job.document)
    .bind(&job.holder)
    .execute(transaction)
    .await?;
    Ok(())
}
