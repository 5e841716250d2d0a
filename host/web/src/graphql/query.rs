//! GraphQL queries.

use async_graphql::{Context, ID, Object};
use kitbag_access::values::knowledge::{self, DEFAULT_RESULTS, KnowledgeError, MAX_RESULTS};

use super::RequestContext;
use super::collections::Collection;
use super::documents::{
    Document, DocumentConnection, DocumentCounts, DocumentState, Feed, SearchResults, Usage,
};
use super::schema::{LIST_COST, READ_COST, SEARCH_COST};
use crate::error::WebError;

/// Default number of documents per page.
const DEFAULT_DOCUMENTS: i32 = 20;
/// Maximum number of documents per page.
const MAX_DOCUMENTS: i32 = 100;
/// Default number of feeds per page.
const DEFAULT_FEEDS: i32 = 50;
/// Maximum number of feeds per page.
const MAX_FEEDS: i32 = 1000;

/// Default number of collections per page.
const DEFAULT_COLLECTIONS: i32 = 50;
/// Maximum number of collections per page.
const MAX_COLLECTIONS: i32 = 200;

pub(super) struct Query;

#[Object]
impl Query {
    /// Searches the documents that you may read by words and, where the server has a model, by meaning: yours, and those of
    /// your collections. Best first.
    #[graphql(complexity = "SEARCH_COST + within(limit, 10, 50) * child_complexity")]
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn search(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "In your own words.")] query: String,
        #[graphql(desc = "Results at most, 1 to 50.", default_with = "Some(10)")] limit: Option<i32>,
        #[graphql(desc = "`endCursor` of the page before.")] after: Option<String>,
        #[graphql(desc = "Only documents of this source: the id of a toolkit, or `user`.")] source: Option<
            String,
        >,
        #[graphql(desc = "Only documents with this byline; case does not matter.")] author: Option<String>,
        #[graphql(
            desc = "Whether `\"a phrase\"`, `title:word`, `source:name` and `in:collection` narrow the results, and a `-` \
                    before one or before a word leaves out what has it. For what a person types: any text may have \
                    quotation marks.",
            default
        )]
        operators: bool,
        #[graphql(desc = "Only in these collections, by id; `mine` means your own documents.")]
        collections: Option<Vec<String>>,
    ) -> Result<SearchResults, WebError> {
        let request = RequestContext::of(context);
        let limit = limit
            .map_or(Ok(DEFAULT_RESULTS), u32::try_from)
            .ok()
            .filter(|limit| (1..=MAX_RESULTS).contains(limit));
        let limit = limit
            .ok_or_else(|| WebError::invalid("limit", format!("must be between 1 and {MAX_RESULTS}")))?;
        let offset = after.as_deref().map_or(Ok(0), SearchResults::offset)?;
        let wanted =
            knowledge::Query { text: query, has_operators: operators, limit, offset, source, author };
        let _turn = request.turn().await;
        let found = request.user.clone().within(collections).documents().search(&wanted).await?;
        Ok(SearchResults::new(found, offset))
    }

    /// A document that you may read; null where there is none with this id.
    #[graphql(complexity = "READ_COST + child_complexity")]
    async fn document(&self, context: &Context<'_>, id: ID) -> Result<Option<Document>, WebError> {
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        match request.user.documents().summary(&id).await {
            Ok(summary) => Ok(Some(Document(summary))),
            Err(KnowledgeError::NotFound) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Your documents, or those of a collection, newest first.
    #[graphql(complexity = "LIST_COST + within(first, 20, 100) * child_complexity")]
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn documents(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Documents at most, 1 to 100.", default_with = "Some(20)")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the page before.")] after: Option<String>,
        #[graphql(desc = "Only of this source: the id of a toolkit, or `user`.")] source: Option<String>,
        #[graphql(desc = "Only of the feed with this key.")] feed: Option<String>,
        #[graphql(desc = "Only in this state.")] state: Option<DocumentState>,
        #[graphql(desc = "The collection, by id; without it, your own documents.")] collection: Option<
            String,
        >,
    ) -> Result<DocumentConnection, WebError> {
        let request = RequestContext::of(context);
        let listing = knowledge::Listing {
            source,
            feed,
            state: state.map(Into::into),
            ..page(first, after.as_deref())?
        };
        let _turn = request.turn().await;
        let page = request.user.documents().of(collection.as_deref())?.list(&listing).await?;
        Ok(DocumentConnection(page))
    }

    /// Deleted documents that can be had back, the latest first: yours, or those of a collection that you keep.
    #[graphql(complexity = "LIST_COST + within(first, 20, 100) * child_complexity")]
    async fn bin(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Documents at most, 1 to 100.", default_with = "Some(20)")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the page before.")] after: Option<String>,
        #[graphql(desc = "The collection, by id; without it, your own documents.")] collection: Option<
            String,
        >,
    ) -> Result<DocumentConnection, WebError> {
        let request = RequestContext::of(context);
        let listing = page(first, after.as_deref())?;
        let _turn = request.turn().await;
        Ok(DocumentConnection(request.user.documents().of(collection.as_deref())?.bin(&listing).await?))
    }

    /// The collections that you may read, by id.
    #[graphql(complexity = "LIST_COST + within(first, 50, 200) * child_complexity")]
    async fn collections(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Collections at most, 1 to 200.", default_with = "Some(50)")] first: Option<i32>,
        #[graphql(desc = "How many to leave out: those of the pages before.", default_with = "Some(0)")]
        offset: Option<i32>,
    ) -> Result<Vec<Collection>, WebError> {
        let (offset, first) = part(first.unwrap_or(DEFAULT_COLLECTIONS), MAX_COLLECTIONS, offset)?;
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        let collections =
            request.user.collections().list().into_iter().skip(offset as usize).take(first as usize);
        Ok(collections.map(|(collection, role)| Collection { collection, role }).collect())
    }

    /// A collection that you may read; null where there is none with this id.
    #[graphql(complexity = "READ_COST + child_complexity")]
    async fn collection(&self, context: &Context<'_>, id: String) -> Option<Collection> {
        let (collection, role) = RequestContext::of(context).user.collections().get(&id).ok()?;
        Some(Collection { collection, role })
    }

    /// Your feeds, or those of a collection, by source and name.
    #[graphql(complexity = "LIST_COST + within(first, 50, 1000) * child_complexity")]
    async fn feeds(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Feeds at most, 1 to 1000.", default_with = "Some(50)")] first: Option<i32>,
        #[graphql(desc = "How many to leave out: those of the pages before.", default_with = "Some(0)")]
        offset: Option<i32>,
        #[graphql(desc = "The collection, by id; without it, your own feeds.")] collection: Option<String>,
    ) -> Result<Vec<Feed>, WebError> {
        let request = RequestContext::of(context);
        let (offset, first) = part(first.unwrap_or(DEFAULT_FEEDS), MAX_FEEDS, offset)?;
        let _turn = request.turn().await;
        let documents = request.user.documents().of(collection.as_deref())?;
        let feeds = documents.feeds(offset, first).await?;
        Ok(feeds.into_iter().map(|feed| Feed { feed, collection: collection.clone() }).collect())
    }

    /// You.
    async fn me(&self) -> Me {
        Me
    }
}

pub(super) struct Me;

/// The user whose token came with the request.
#[Object]
impl Me {
    /// The identity provider's id for you.
    async fn user_id<'a>(&self, context: &Context<'a>) -> &'a str {
        RequestContext::of(context).user.id()
    }

    /// Whether you may deploy toolkits.
    async fn is_operator(&self, context: &Context<'_>) -> bool {
        RequestContext::of(context).user.is_operator()
    }

    /// Whether each of your calls is written into the audit log, which operators read: when, what and through which client or
    /// key you called, with which account, and the outcome; never arguments or results (setting `record-callers`).
    async fn calls_are_recorded(&self, context: &Context<'_>) -> bool {
        RequestContext::of(context).user.calls_recorded_for().is_some()
    }

    /// How many documents you have.
    #[graphql(complexity = "LIST_COST + child_complexity")]
    async fn documents(&self, context: &Context<'_>) -> Result<DocumentCounts, WebError> {
        Ok(RequestContext::of(context).counts().await?.into())
    }

    /// What your documents are, and what they may be.
    #[graphql(complexity = "READ_COST + child_complexity")]
    async fn usage(&self, context: &Context<'_>) -> Result<Usage, WebError> {
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        let (usage, quota) = request.user.documents().of(None)?.usage().await?;
        Ok(Usage::new(usage, quota))
    }
}

/// Checked offset and length of a part of a list.
fn part(first: i32, most: i32, offset: Option<i32>) -> Result<(u32, u32), WebError> {
    if !(1..=most).contains(&first) {
        return Err(WebError::invalid("first", format!("must be between 1 and {most}")));
    }
    let offset = u32::try_from(offset.unwrap_or_default())
        .map_err(|_| WebError::invalid("offset", "must not be negative"))?;
    Ok((offset, first.unsigned_abs()))
}

/// Page of a list of documents.
fn page(first: Option<i32>, after: Option<&str>) -> Result<knowledge::Listing, WebError> {
    let (_, limit) = part(first.unwrap_or(DEFAULT_DOCUMENTS), MAX_DOCUMENTS, None)?;
    let after = after.map(DocumentConnection::position).transpose()?;
    Ok(knowledge::Listing { after, limit, ..knowledge::Listing::default() })
}

/// Number of elements for which a page's fields are charged. Clamped here; the resolver refuses values out of
/// range.
fn within(asked: Option<i32>, usual: i32, most: i32) -> usize {
    usize::try_from(asked.unwrap_or(usual).clamp(1, most)).unwrap_or(1)
}

const _: () = assert!(
    DEFAULT_RESULTS == 10 && MAX_RESULTS == 50 && DEFAULT_DOCUMENTS == 20 && DEFAULT_FEEDS == 50,
    "as the schema says"
);
