//! Documents, as jobs read them.

use kitbag_database::{FromRow, sql};

use super::Store;
use super::documents::body;
use super::jobs::Job;
use super::rows::artifact;
use crate::document::{Artifact, TitleOrigin};

/// Input of a job.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) revision: i64,
    /// Id of the toolkit that added the document, or [`USER_SOURCE`](crate::document::USER_SOURCE).
    pub(crate) source: String,
    pub(crate) title: String,
    pub(crate) title_origin: TitleOrigin,
    /// Name of the file, if it was ingested with one.
    pub(crate) file_name: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) file_url: Option<String>,
    pub(crate) claimed_type: Option<String>,
    pub(crate) capture_only: bool,
    /// Captured or uploaded file, if it is stored already.
    pub(crate) artifact: Option<Artifact>,
    /// Given text, followed by the text of the captured file.
    pub(crate) body: String,
}

#[derive(FromRow)]
struct SubjectRow {
    revision: i64,
    source: String,
    title: String,
    title_origin: String,
    file_name: Option<String>,
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

impl Store {
    /// Document of a job; `None` if it was deleted.
    pub(crate) async fn subject(&self, job: &Job) -> kitbag_database::Result<Option<Subject>> {
        let row: Option<SubjectRow> =
            sql("SELECT revision, source, title, title_origin, file_name, url, author, file_url, claimed_type, capture_only, artifact,
                    artifact_size, artifact_type, text, captured
             FROM documents WHERE sequence = $1 AND holder = $2")
            .bind(job.document)
            .bind(&job.holder)
            .fetch_optional(self.0.readers())
            .await?;
        Ok(row.map(|row| Subject {
            revision: row.revision,
            source: row.source,
            title: row.title,
            title_origin: TitleOrigin::parse(&row.title_origin),
            file_name: row.file_name,
            url: row.url,
            author: row.author,
            file_url: row.file_url,
            claimed_type: row.claimed_type,
            capture_only: row.capture_only,
            artifact: artifact(row.artifact, row.artifact_size, row.artifact_type),
            body: body(row.text, row.captured),
        }))
    }
}
