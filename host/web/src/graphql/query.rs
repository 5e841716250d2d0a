//! GraphQL queries.

use async_graphql::{Context, ID, Object};
use kitbag_access::values::knowledge::{self, DEFAULT_RESULTS, KnowledgeError, MAX_RESULTS};

use super::RequestContext;
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

pub(super) struct Query;

#[Object]
impl Query {
    /// Searches your documents by words and, where the server has a model, by meaning. Best first.
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
            desc = "Whether `\"a phrase\"`, `title:word` and `source:name` narrow the results, and a `-` before one or \
                    before a word leaves out what has it. For what a person types: any text may have quotation marks.",
            default
        )]
        operators: bool,
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
        let found = request.user.documents().search(&wanted).await?;
        Ok(SearchResults::new(found, offset))
    }

    /// One of your documents; null where you have none with this id.
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

    /// Your documents, newest first.
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
    ) -> Result<DocumentConnection, WebError> {
        let request = RequestContext::of(context);
        let first = first.unwrap_or(DEFAULT_DOCUMENTS);
        if !(1..=MAX_DOCUMENTS).contains(&first) {
            return Err(WebError::invalid("first", format!("must be between 1 and {MAX_DOCUMENTS}")));
        }
        let listing = knowledge::Listing {
            source,
            feed,
            state: state.map(Into::into),
            after: after.as_deref().map(DocumentConnection::position).transpose()?,
            limit: first.unsigned_abs(),
        };
        let _turn = request.turn().await;
        let page = request.user.documents().list(&listing).await?;
        Ok(DocumentConnection(page))
    }

    /// Your feeds, by source and name.
    #[graphql(complexity = "LIST_COST + within(first, 50, 1000) * child_complexity")]
    async fn feeds(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Feeds at most, 1 to 1000.", default_with = "Some(50)")] first: Option<i32>,
        #[graphql(desc = "How many to leave out: those of the pages before.", default_with = "Some(0)")]
        offset: Option<i32>,
    ) -> Result<Vec<Feed>, WebError> {
        let request = RequestContext::of(context);
        let first = first.unwrap_or(DEFAULT_FEEDS);
        if !(1..=MAX_FEEDS).contains(&first) {
            return Err(WebError::invalid("first", format!("must be between 1 and {MAX_FEEDS}")));
        }
        let offset = u32::try_from(offset.unwrap_or_default())
            .map_err(|_| WebError::invalid("offset", "must not be negative"))?;
        let _turn = request.turn().await;
        let feeds = request.user.documents().feeds(offset, first.unsigned_abs()).await?;
        Ok(feeds.into_iter().map(Feed).collect())
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
        let (usage, quota) = request.user.documents().usage().await?;
        Ok(Usage::new(usage, quota))
    }
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
