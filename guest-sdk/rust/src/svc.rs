//! The calling user's own knowledge base.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ctx, SvcError};

/// The calling user's own knowledge base; see [`Ctx::svc`](crate::Ctx::svc).
#[derive(Clone)]
pub struct Svc(Ctx);

#[expect(clippy::unused_async, reason = "only today's contract answers without waiting")]
impl Svc {
    pub(crate) fn new(ctx: Ctx) -> Self {
        Self(ctx)
    }

    /// Returns the best matches, best first. Needs [`Scope::Search`](crate::Scope::Search).
    pub async fn search(&self, query: &str, options: SearchOptions) -> Result<Vec<SearchResult>, SvcError> {
        self.0.platform().search(query, options)
    }

    /// Returns one document with its text. Needs [`Scope::Search`](crate::Scope::Search).
    pub async fn get_document(&self, id: &str) -> Result<Document, SvcError> {
        self.0.platform().get_document(id)
    }

    /// Stores the documents, all or none, and returns how many. They belong to this toolkit: it
    /// neither names a source nor touches the documents of another.
    /// Needs [`Scope::Ingest`](crate::Scope::Ingest).
    pub async fn ingest(&self, documents: Vec<IngestDocument>) -> Result<usize, SvcError> {
        self.0.platform().ingest(documents)
    }
}

/// What narrows a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// How many results at most, 1 to 50; by default 10.
    pub limit: Option<u32>,
    /// The id of a toolkit, or `user`; exact.
    pub source: Option<String>,
    /// Byline; case-insensitive.
    pub author: Option<String>,
}

/// One match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The document that matched.
    pub document: DocumentSummary,
    /// The passage that matched best.
    pub snippet: String,
    /// Higher is better; comparable within one search only.
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

/// A document to store. It has a title, and a text or a file.
///
/// ```
/// # use kitbag_toolkit::IngestDocument;
/// IngestDocument {
///     title: "Minutes of May".into(),
///     text: Some("All were there.".into()),
///     ..IngestDocument::default()
/// };
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestDocument {
    /// Title.
    pub title: String,
    /// Body to index. Required unless a file is given, which then becomes the body.
    pub text: Option<String>,
    /// Canonical URL of the original.
    pub url: Option<String>,
    /// Free-text byline.
    pub author: Option<String>,
    /// File that the service fetches, stores and processes; public internet only.
    pub file_url: Option<String>,
    /// The same for audio; implies `audio/mpeg`.
    pub audio_url: Option<String>,
    /// Media type of `file_url`.
    pub mime_type: Option<String>,
    /// Stores the file and a searchable record of its metadata, and processes nothing.
    pub capture_only: bool,
    /// Sub-group of the toolkit's documents.
    pub feed: Option<IngestFeed>,
}

/// A sub-group of a toolkit's documents: a channel, a show, a company. Deduplication happens within it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestFeed {
    /// The entity's stable id upstream, not its display name.
    pub key: String,
    /// Shown to the user.
    pub name: String,
    /// Word for the kind of grouping.
    pub label: Option<String>,
}
