//! GraphQL mutations.

use async_graphql::{Context, Enum, ID, InputObject, Object, SimpleObject};
use kitbag_access::values::collections::Description;
use kitbag_access::values::knowledge::{self, Chosen, NewDocument, NewFeed};

use super::RequestContext;
use super::chosen::{ChosenInput, Moved};
use super::collections::{MemberInput, SubjectInput};
use super::schema::CHANGE_COST;
use crate::error::WebError;

pub(super) struct Mutation;

#[Object]
impl Mutation {
    /// Stores documents, all or none, of yours or in a collection that you keep, and returns once they are durable. They are searchable
    /// soon after. One that you ingested before is updated, and keeps its id: the same URL, or else the
    /// same content, within its feed.
    #[graphql(complexity = "CHANGE_COST + child_complexity")]
    async fn ingest(
        &self,
        context: &Context<'_>,
        documents: Vec<IngestDocumentInput>,
        #[graphql(desc = "The collection, by id; without it, your own documents.")] collection: Option<
            String,
        >,
    ) -> Result<Ingested, WebError> {
        let documents = documents.into_iter().map(Into::into).collect();
        let holder = RequestContext::of(context).user.documents().of(collection.as_deref())?;
        let stored = holder.ingest(documents).await?;
        Ok(Ingested { ingested: stored.len(), documents: stored.into_iter().map(Into::into).collect() })
    }

    /// Puts one document into the bin, whatever its source. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn delete_document(&self, context: &Context<'_>, id: ID) -> Result<ID, WebError> {
        let holder = RequestContext::of(context).user.documents().around(&id).await?;
        holder.delete(Chosen::Ids(vec![id.to_string()])).await?;
        Ok(id)
    }

    /// Puts chosen documents into the bin. Returns their number.
    #[graphql(complexity = "CHANGE_COST")]
    async fn delete_documents(
        &self,
        context: &Context<'_>,
        chosen: ChosenInput,
        #[graphql(desc = "The collection, by id; without it, your own documents.")] collection: Option<
            String,
        >,
    ) -> Result<u64, WebError> {
        let holder = RequestContext::of(context).user.documents().of(collection.as_deref())?;
        Ok(holder.delete(chosen.try_into()?).await?)
    }

    /// Gets chosen documents back from the bin, with the ids that they had.
    #[graphql(complexity = "CHANGE_COST + child_complexity")]
    async fn restore_documents(
        &self,
        context: &Context<'_>,
        chosen: ChosenInput,
        #[graphql(desc = "The collection, by id; without it, your own documents.")] collection: Option<
            String,
        >,
    ) -> Result<Moved, WebError> {
        let holder = RequestContext::of(context).user.documents().of(collection.as_deref())?;
        Ok(holder.restore(chosen.try_into()?).await?.into())
    }

    /// Deletes chosen documents of the bin for good. Returns their number.
    #[graphql(complexity = "CHANGE_COST")]
    async fn purge_documents(
        &self,
        context: &Context<'_>,
        chosen: ChosenInput,
        #[graphql(desc = "The collection, by id; without it, your own documents.")] collection: Option<
            String,
        >,
    ) -> Result<u64, WebError> {
        let holder = RequestContext::of(context).user.documents().of(collection.as_deref())?;
        Ok(holder.purge(chosen.try_into()?).await?)
    }

    /// Moves chosen documents, with their ids and versions: of yours into a collection, out of one, or between two. You keep
    /// both.
    #[graphql(complexity = "CHANGE_COST + child_complexity")]
    async fn move_documents(
        &self,
        context: &Context<'_>,
        chosen: ChosenInput,
        #[graphql(desc = "The collection where they are, by id; without it, your own documents.")]
        from: Option<String>,
        #[graphql(desc = "The collection where they go, by id; without it, your own documents.")] to: Option<
            String,
        >,
    ) -> Result<Moved, WebError> {
        let documents = RequestContext::of(context).user.documents();
        let to = documents.of(to.as_deref())?;
        Ok(documents.of(from.as_deref())?.move_to(&to, chosen.try_into()?).await?.into())
    }

    /// Makes an earlier text the text of a document again; the present one becomes an earlier one. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn restore_version(&self, context: &Context<'_>, id: ID, number: u32) -> Result<ID, WebError> {
        let holder = RequestContext::of(context).user.documents().around(&id).await?;
        holder.restore_version(&id, number).await?;
        Ok(id)
    }

    /// Makes a collection, of which you are the curator. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn create_collection(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "1 to 64 of the characters a-z, 0-9 and -, such as `handbook`; chosen once.")]
        id: String,
        name: String,
        #[graphql(default)] description: String,
    ) -> Result<String, WebError> {
        let about = Description { name, description };
        RequestContext::of(context).user.collections().create(&id, &about).await?;
        Ok(id)
    }

    /// Renames and describes a collection. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn describe_collection(
        &self,
        context: &Context<'_>,
        id: String,
        name: String,
        #[graphql(default)] description: String,
    ) -> Result<String, WebError> {
        let about = Description { name, description };
        RequestContext::of(context).user.collections().describe(&id, &about).await?;
        Ok(id)
    }

    /// Shares a collection; replaces the roles of those who have one. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn share_collection(
        &self,
        context: &Context<'_>,
        id: String,
        with: Vec<MemberInput>,
    ) -> Result<String, WebError> {
        let with = with.into_iter().map(TryInto::try_into).collect::<Result<Vec<_>, _>>()?;
        RequestContext::of(context).user.collections().share(&id, &with).await?;
        Ok(id)
    }

    /// Ends a membership of a collection. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn unshare_collection(
        &self,
        context: &Context<'_>,
        id: String,
        with: SubjectInput,
    ) -> Result<String, WebError> {
        RequestContext::of(context).user.collections().unshare(&id, &with.try_into()?).await?;
        Ok(id)
    }

    /// Puts a collection into the bin, with its documents. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn delete_collection(&self, context: &Context<'_>, id: String) -> Result<String, WebError> {
        RequestContext::of(context).user.collections().delete(&id).await?;
        Ok(id)
    }

    /// Gets a collection back from the bin. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn restore_collection(&self, context: &Context<'_>, id: String) -> Result<String, WebError> {
        RequestContext::of(context).user.collections().restore(&id).await?;
        Ok(id)
    }

    /// Removes a deleted collection for good, with its documents. Returns its id.
    #[graphql(complexity = "CHANGE_COST")]
    async fn purge_collection(&self, context: &Context<'_>, id: String) -> Result<String, WebError> {
        RequestContext::of(context).user.collections().purge(&id).await?;
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
