//! Rows of documents.

use kitbag_database::FromRow;

use crate::document::{Artifact, Deletion, Feed, State, Summary, TitleOrigin};

/// Columns of [`SummaryRow`], with `documents` as `d` and `feeds` as `f`.
pub(super) const SUMMARY: &str = "d.id, d.holder, d.added_by, d.changed_by, d.number, d.title, d.title_origin, d.encoding, d.url, d.author, d.source, d.artifact, \
    d.artifact_size, d.artifact_type, d.state, d.reason, d.created_at, d.updated_at, d.deleted_by, d.deleted_at, d.version, \
    f.key AS feed_key, f.name AS feed_name, f.label AS feed_label";

/// Tables of [`SUMMARY`].
pub(super) const FROM: &str = "documents d LEFT JOIN feeds f ON f.id = d.feed_id AND f.holder = d.holder";

/// A document without its text.
#[derive(FromRow)]
pub(super) struct SummaryRow {
    id: String,
    holder: String,
    added_by: String,
    changed_by: String,
    pub(super) number: i64,
    title: String,
    title_origin: String,
    encoding: Option<String>,
    url: Option<String>,
    author: Option<String>,
    source: String,
    artifact: Option<String>,
    artifact_size: Option<i64>,
    artifact_type: Option<String>,
    state: String,
    reason: Option<String>,
    created_at: i64,
    updated_at: i64,
    deleted_by: Option<String>,
    deleted_at: Option<i64>,
    version: i64,
    feed_key: Option<String>,
    feed_name: Option<String>,
    feed_label: Option<String>,
}

impl From<SummaryRow> for Summary {
    fn from(row: SummaryRow) -> Self {
        let SummaryRow { source, artifact, artifact_size, artifact_type, .. } = row;
        let feed = row.feed_key.zip(row.feed_name).map(|(key, name)| Feed {
            key,
            name,
            label: row.feed_label,
            source: source.clone(),
        });
        Self {
            id: row.id,
            holder: row.holder.into(),
            added_by: row.added_by,
            changed_by: row.changed_by,
            title: row.title,
            title_origin: TitleOrigin::parse(&row.title_origin),
            encoding: row.encoding,
            url: row.url,
            author: row.author,
            source,
            feed,
            state: state(&row.state, row.reason),
            artifact: self::artifact(artifact, artifact_size, artifact_type),
            created_at: row.created_at,
            updated_at: row.updated_at,
            version: u32::try_from(row.version).unwrap_or(u32::MAX),
            deleted: row.deleted_by.zip(row.deleted_at).map(|(by, at)| Deletion { by, at }),
        }
    }
}

pub(super) fn artifact(
    digest: Option<String>,
    size: Option<i64>,
    media_type: Option<String>,
) -> Option<Artifact> {
    let size = size.and_then(|size| u64::try_from(size).ok());
    Some(Artifact { digest: digest?, size: size?, media_type: media_type? })
}

fn state(name: &str, reason: Option<String>) -> State {
    match name {
        "ready" => State::Ready,
        "failed" => State::Failed(reason.unwrap_or_default()),
        _ => State::Pending,
    }
}
