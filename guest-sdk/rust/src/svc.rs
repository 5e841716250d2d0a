//! The calling user's own knowledge base.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ctx, IngestDocument, SvcError};

/// The calling user's own knowledge base; see [`Ctx::svc`](crate::Ctx::svc).
#[derive(Clone)]
pub struct Svc(Ctx);

#[expect(clippy::unused_async, reason = "the imports are synchronous only in the current contract")]
impl Svc {
    pub(crate) fn new(ctx: Ctx) -> Self {
        Self(ctx)
    }

    /// Returns the best matches, sorted by score, descending. Needs [`Scope::Search`](crate::Scope::Search).
    pub async fn search(&self, query: &str, options: SearchOptions) -> Result<Vec<SearchResult>, SvcError> {
        self.0.platform().search(query, options)
    }

    /// Returns one document with its text. Needs [`Scope::Search`](crate::Scope::Search).
    pub async fn get_document(&self, id: &str) -> Result<Document, SvcError> {
        self.0.platform().get_document(id)
    }

    /// Stores all documents or none, and returns their number. Their source is this toolkit; documents
    /// of other sources cannot be changed.
    /// Needs [`Scope::Ingest`](crate::Scope::Ingest).
    pub async fn ingest(&self, documents: Vec<IngestDocument>) -> Result<usize, SvcError> {
        self.0.platform().ingest(documents)
    }
}

/// Options that narrow a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// Maximum number of results, 1 to 50; 10 by default.
    pub limit: Option<u32>,
    /// Source to search: the id of a toolkit, or `user`; exact match.
    pub source: Option<String>,
    /// Author to search; case-insensitive.
    pub author: Option<String>,
}

/// One match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The document that matched.
    pub document: DocumentSummary,
    /// The passage that matched best.
    pub snippet: String,
    /// Relevance, 0 to 1: higher is better; comparable between searches on the same server.
    pub score: f64,
}

/// A document without its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentSummary {
    /// The document's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Canonical URL of the original.
    pub url: Option<String>,
    /// Free-text byline.
    pub author: Option<String>,
    /// The id of the toolkit that ingested it, or `user`.
    pub source: String,
    /// Name of the feed it belongs to.
    pub feed: Option<String>,
}

/// A document with its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// All but the text.
    pub summary: DocumentSummary,
    /// The text.
    pub text: String,
}
