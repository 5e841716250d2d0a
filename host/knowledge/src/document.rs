//! Documents: ingest input, stored metadata, query results.

use std::ops::Range;

use kitbag_database::Holder;
use kitbag_manifest::limits;
use serde::Serialize;

pub use kitbag_manifest::documents::{NewDocument, NewFeed};

/// Source of documents that users ingest themselves, alongside the ids of toolkits.
pub const USER_SOURCE: &str = "user";

/// Holder, user and source of ingested documents: all verified, none read from a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whose documents they are.
    pub holder: Holder,
    /// Id of the user who adds them.
    pub user_id: String,
    /// Id of the calling toolkit, or [`USER_SOURCE`].
    pub source: String,
}

impl Origin {
    /// A user's own documents, from this source.
    pub fn own(user_id: &str, source: &str) -> Self {
        Self { holder: Holder::user(user_id), user_id: user_id.to_owned(), source: source.to_owned() }
    }
}

/// Result of ingesting one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingested {
    /// Id of the document; unchanged if the document was ingested before.
    pub id: String,
    /// Whether the document was created, updated or unchanged.
    pub change: Change,
}

/// Effect of an ingest on a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The document is new.
    Created,
    /// The document existed with other content or other metadata.
    Updated,
    /// The document existed with the same content and metadata.
    Unchanged,
}

/// Processing state of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Stored, but not yet searchable.
    Pending,
    /// Searchable.
    Ready,
    /// Failed permanently, with a reason for the user.
    Failed(String),
}

/// Origin of a document's title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleOrigin {
    /// Given by the caller of the ingest.
    Given,
    /// Found in the file.
    File,
    /// Name of the file, which has no title of its own or was not read yet.
    FileName,
}

impl TitleOrigin {
    /// Name in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::File => "file",
            Self::FileName => "file-name",
        }
    }

    /// Parses a name that [`as_str`](Self::as_str) returned.
    pub(super) fn parse(name: &str) -> Self {
        match name {
            "file" => Self::File,
            "file-name" => Self::FileName,
            _ => Self::Given,
        }
    }
}

/// A document without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Opaque, permanent id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Origin of the title.
    pub title_origin: TitleOrigin,
    /// Character encoding that was used to decode the file, by its name in the Encoding Standard, or a name
    /// in the same style for encodings that are not in it; only for text files and web pages.
    pub encoding: Option<String>,
    /// Canonical URL of the original.
    pub url: Option<String>,
    /// Free-text byline.
    pub author: Option<String>,
    /// Whose it is.
    pub holder: Holder,
    /// Id of the user who added it.
    pub added_by: String,
    /// Id of the user who changed it last.
    pub changed_by: String,
    /// Id of the toolkit that ingested the document, or [`USER_SOURCE`].
    pub source: String,
    /// Feed of the document.
    pub feed: Option<Feed>,
    /// Processing state.
    pub state: State,
    /// Captured file; `None` until it is stored.
    pub artifact: Option<Artifact>,
    /// Milliseconds since 1970, UTC.
    pub created_at: i64,
    /// Milliseconds since 1970, UTC.
    pub updated_at: i64,
    /// Number of its present text, from 1.
    pub version: u32,
    /// Who has deleted it, and when; `None` unless it is in a bin.
    pub deleted: Option<Deletion>,
}

/// A document with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Metadata.
    pub summary: Summary,
    /// Body, or the text of the captured file; empty until the file was read.
    pub text: String,
}

/// A document with a part of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPart {
    /// Metadata.
    pub summary: Summary,
    /// Requested part of the text.
    pub text: String,
    /// Length of the whole text, in characters (Unicode scalar values).
    pub characters: u64,
}

/// File of a document, in the file store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// SHA-256, hexadecimal.
    pub digest: String,
    /// Size in bytes.
    pub size: u64,
    /// Media type, detected from the bytes.
    pub media_type: String,
}

/// Sub-group of a source's documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feed {
    /// Stable id of the feed in the source's own system.
    pub key: String,
    /// Display name.
    pub name: String,
    /// Word for the kind of grouping, such as "channel".
    pub label: Option<String>,
    /// Source of the feed.
    pub source: String,
}

/// Documents of one holder that are deleted, restored or moved as one act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// Those with these ids.
    Ids(Vec<String>),
    /// Those of a feed.
    Feed {
        /// Source of the feed.
        source: String,
        /// Key of the feed.
        key: String,
    },
    /// Those of a source.
    Source(String),
    /// Those in a bin that were deleted before this time, in milliseconds since 1970, UTC.
    DeletedBefore(i64),
    /// All.
    All,
}

/// A document that did not move, since the target has the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Id of the document.
    pub id: String,
    /// Title of the document.
    pub title: String,
    /// Id of the one that is there already; `None` if it is moved by the same act.
    pub existing: Option<String>,
}

/// Result of a move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of documents that have moved.
    pub count: u64,
    /// Documents that stay, at most [`MAX_CONFLICTS`] of them.
    pub conflicts: Vec<Conflict>,
}

/// Largest number of conflicts that a move lists.
pub const MAX_CONFLICTS: usize = 100;

/// A deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Id of the user.
    pub by: String,
    /// Milliseconds since 1970, UTC.
    pub at: i64,
}

/// An earlier text of a document, without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// From 1, in their order; some are missing.
    pub number: u32,
    /// Title.
    pub title: String,
    /// From when on it was the text, in milliseconds since 1970, UTC.
    pub changed_at: i64,
    /// Until when it was the text, in milliseconds since 1970, UTC.
    pub replaced_at: i64,
    /// Id of the user who gave it.
    pub changed_by: String,
    /// Length of the text, in characters (Unicode scalar values).
    pub characters: u64,
}

/// Filter and page of a list of documents: all conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Only documents of this source; exact match.
    pub source: Option<String>,
    /// Only documents of the feed with this key.
    pub feed: Option<String>,
    /// Only documents in this state: `pending`, `ready` or `failed`.
    pub state: Option<StateName>,
    /// Only documents older than the one with this cursor.
    pub after: Option<i64>,
    /// Largest number of documents to return.
    pub limit: u32,
}

/// Processing state without its details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateName {
    /// [`State::Pending`]
    Pending,
    /// [`State::Ready`]
    Ready,
    /// [`State::Failed`]
    Failed,
}

/// One page of a holder's documents, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Documents, each with its cursor.
    pub documents: Vec<(i64, Summary)>,
    /// Whether there are more pages.
    pub has_more: bool,
    /// Number of matching documents on all pages.
    pub total: u64,
}

/// Number of a holder's documents in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// [`State::Pending`]
    pub pending: u64,
    /// [`State::Ready`]
    pub ready: u64,
    /// [`State::Failed`]
    pub failed: u64,
}

/// Name of the server's own document tools, used in place of a toolkit id: in records, metrics and traces,
/// and where users and clients choose tools. No toolkit has this id.
pub const TOOLS: &str = "knowledge";

/// Search request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Query text as the user wrote it.
    pub text: String,
    /// Whether operators in the text, such as `-word`, are interpreted: for queries that people type, not for
    /// those of toolkits.
    pub has_operators: bool,
    /// Largest number of results, 1 to [`MAX_RESULTS`].
    pub limit: u32,
    /// Number of top results to skip, for paging.
    pub offset: u32,
    /// Only documents of this source; exact match.
    pub source: Option<String>,
    /// Only documents with this byline; case-insensitive.
    pub author: Option<String>,
}

/// Default number of results of a search.
pub const DEFAULT_RESULTS: u32 = limits::DEFAULT_SEARCH_RESULTS;
/// Largest number of results of a search.
pub const MAX_RESULTS: u32 = limits::MAX_SEARCH_RESULTS;

/// Search results.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Results, best first.
    pub hits: Vec<Hit>,
    /// Whether there are more results.
    pub has_more: bool,
    /// Retrieval method that was used.
    pub mode: Mode,
    /// Documents that semantic search covers; `None` for full-text search.
    pub coverage: Option<Coverage>,
    /// Whether the best result is likely to be about what was asked.
    pub has_good_match: bool,
}

/// Sentence for people and models about results of which none is a good match.
pub const NO_GOOD_MATCH: &str =
    "No good match was found; the nearest documents are listed, but probably do not answer this.";

/// Share of the searched documents that semantic search covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Documents that an embedding model has read completely.
    pub embedded: usize,
    /// All searchable documents.
    pub documents: usize,
}

impl Coverage {
    /// Sentence for people and models; `None` if all documents are covered.
    pub fn note(self) -> Option<String> {
        let Self { embedded, documents } = self;
        (embedded < documents).then(|| {
            format!("The meaning of {embedded} of {documents} documents is known so far; the others are found by their words.")
        })
    }
}

/// Search result.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Metadata of the document.
    pub document: Summary,
    /// Best matching passage, cut around the words of the query.
    pub snippet: String,
    /// Byte ranges of query words in the snippet: ascending, not overlapping.
    pub words: Vec<Range<usize>>,
    /// Relevance, 0 to 1: comparable between searches with the same model.
    pub score: f64,
}

/// Retrieval method of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Full-text and semantic search.
    Hybrid,
    /// Full-text search only: there is no embedding model.
    FullText,
}
