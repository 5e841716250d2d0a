//! GraphQL mutations.

use async_graphql::{Context, Enum, ID, InputObject, Object, SimpleObject};
use kitbag_access::values::knowledge::{self, NewDocument, NewFeed};

use super::RequestContext;
use super::schema::CHANGE_COST;
use crate::error::WebError;

pub(super) struct Mutation;

#[Object]
impl Mutation {
    /// Stores documents of yours, all or none, and returns once they are durable. They are searchable
    /// soon after. One that you ingested before is updated, and keeps its id: the same URL, or else the
    /// same content, within its feed.
    #[graphql(complexity = "CHANGE_COST + child_complexity")]
    async fn ingest(
        &self,
        context: &Context<'_>,
        documents: Vec<IngestDocumentInput>,
    ) -> Result<Ingested, WebError> {
        let documents = documents.into_iter().map(Into::into).collect();
        let stored = RequestContext::of(context).user.documents().ingest(documents).await?;
        Ok(Ingested { ingested: stored.len(), documents: stored.into_iter().map(Into::into).collect() })
    }

    /// Removes one of your documents, whatever its source. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn delete_document(&self, context: &Context<'_>, id: ID) -> Result<ID, WebError> {
        RequestContext::of(context).user.documents().delete(&id).await?;
        Ok(id)
    }
}

/// A document to ingest: it has a text, or a file whose text then becomes its own.
#[derive(InputObject)]
struct IngestDocumentInput {
    title: String,
    /// Whether nobody gave the title, but it was made of a file's name. The same document under another name then stays
    /// as it is, and a title that is found in the file replaces it.
    #[graphql(default_with = "Some(false)")]
    title_is_name: Option<bool>,
    /// Body to index. Required unless there is a `fileUrl` or an `audioUrl`.
    text: Option<String>,
    /// Canonical URL of the original.
    url: Option<String>,
    /// Free-text byline.
    author: Option<String>,
    /// File to fetch, keep and read; public internet only.
    file_url: Option<String>,
    /// The same for audio.
    audio_url: Option<String>,
    /// Media type of `fileUrl`.
    mime_type: Option<String>,
    /// Keep the file and a searchable record of it, and do not read it.
    #[graphql(default_with = "Some(false)")]
    capture_only: Option<bool>,
    /// Sub-group of your documents; the same document is recognised within it.
    feed: Option<IngestFeedInput>,
}

/// The feed of a document to ingest.
#[derive(InputObject)]
struct IngestFeedInput {
    /// The entity's stable id, not its name.
    key: String,
    name: String,
    /// Word for the kind of grouping, such as "channel".
    label: Option<String>,
}

impl From<IngestDocumentInput> for NewDocument {
    fn from(document: IngestDocumentInput) -> Self {
        let IngestDocumentInput {
            title,
            title_is_name,
            text,
            url,
            author,
            file_url,
            audio_url,
            mime_type,
            capture_only,
            feed,
        } = document;
        let capture_only = capture_only.unwrap_or_default();
        let feed = feed.map(|IngestFeedInput { key, name, label }| NewFeed { key, name, label });
        let title_is_name = title_is_name.unwrap_or_default();
        Self { title, title_is_name, text, url, author, file_url, audio_url, mime_type, capture_only, feed }
    }
}

/// What became of the documents.
#[derive(SimpleObject)]
struct Ingested {
    /// How many were stored.
    ingested: usize,
    /// In the order in which they were given.
    documents: Vec<IngestedDocument>,
}

/// What became of one document.
#[derive(SimpleObject)]
struct IngestedDocument {
    /// The same as the first time, where it was there before.
    id: ID,
    change: IngestChange,
}

/// What an ingest did to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
enum IngestChange {
    /// It was not there before.
    Created,
    /// It was there with other content, or other metadata.
    Updated,
    /// It was there just so.
    Unchanged,
}

impl From<knowledge::Ingested> for IngestedDocument {
    fn from(ingested: knowledge::Ingested) -> Self {
        let change = match ingested.change {
            knowledge::Change::Created => IngestChange::Created,
            knowledge::Change::Updated => IngestChange::Updated,
            knowledge::Change::Unchanged => IngestChange::Unchanged,
        };
        Self { id: ingested.id.into(), change }
    }
}
