//! Documents: what comes in, what is kept, what is shown.

use std::ops::Range;

use kitbag_manifest::limits;
use serde::Serialize;

pub use kitbag_manifest::documents::{NewDocument, NewFeed};

/// The source of what users ingest themselves, beside the ids of toolkits.
pub const USER_SOURCE: &str = "user";

/// Whose documents, and through whom they come: both verified, neither taken from a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The user that the documents belong to.
    pub user_id: String,
    /// The id of the calling toolkit, or [`USER_SOURCE`].
    pub source: String,
}

/// What became of a document that was ingested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingested {
    /// The document's id: that of the first time, when it came again.
    pub id: String,
    /// Whether it is new.
    pub change: Change,
}

/// What an ingest did to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Created,
    /// It was there with other content, or other metadata.
    Updated,
    /// It was there with the same content and metadata.
    Unchanged,
}

/// Processing state of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It is stored; search finds it soon.
    Pending,
    /// Search finds it.
    Ready,
    /// It failed permanently; says why, for a person.
    Failed(String),
}

/// Where a title comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleOrigin {
    /// Whoever ingested the document gave it.
    Given,
    /// It was found in the file.
    File,
    /// It is the name of the file, which has no title of its own, or was not read yet.
    FileName,
}

impl TitleOrigin {
    /// The name in the database and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::File => "file",
            Self::FileName => "file-name",
        }
    }

    /// The origin of this name.
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
    /// Opaque, and the same for ever.
    pub id: String,
    /// Title.
    pub title: String,
    /// Where the title comes from.
    pub title_origin: TitleOrigin,
    /// The character encoding that its file was read in, by its name in the Encoding Standard, where it has one there:
    /// of text files and web pages.
    pub encoding: Option<String>,
    /// Canonical URL of the original.
    pub url: Option<String>,
    /// Free-text byline.
    pub author: Option<String>,
    /// The id of the toolkit that ingested it, or [`USER_SOURCE`].
    pub source: String,
    /// The feed it belongs to.
    pub feed: Option<Feed>,
    /// How far it is.
    pub state: State,
    /// The captured file, once it is there.
    pub artifact: Option<Artifact>,
    /// Milliseconds since 1970, UTC.
    pub created_at: i64,
    /// Milliseconds since 1970, UTC.
    pub updated_at: i64,
}

/// A document with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// All but the text.
    pub summary: Summary,
    /// The body, or what was read from the captured file; empty until that was done.
    pub text: String,
}

/// A document with a part of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPart {
    /// All but the text.
    pub summary: Summary,
    /// The part.
    pub text: String,
    /// Characters (Unicode scalar values) that the whole text has.
    pub characters: u64,
}

/// A captured file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// SHA-256, hexadecimal.
    pub digest: String,
    /// Bytes.
    pub size: u64,
    /// What its bytes are.
    pub media_type: String,
}

/// A sub-group of a source's documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feed {
    /// The entity's stable id upstream.
    pub key: String,
    /// Shown to the user.
    pub name: String,
    /// Word for the kind of grouping.
    pub label: Option<String>,
    /// The source whose feed it is.
    pub source: String,
}

/// Which documents to list: all conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Of this source; exact.
    pub source: Option<String>,
    /// Of the feed with this key.
    pub feed: Option<String>,
    /// In this state: `pending`, `ready` or `failed`.
    pub state: Option<StateName>,
    /// Older than the document with this cursor.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: u32,
}

/// A state by name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateName {
    /// [`State::Pending`]
    Pending,
    /// [`State::Ready`]
    Ready,
    /// [`State::Failed`]
    Failed,
}

/// Some of a user's documents, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Each with its cursor.
    pub documents: Vec<(i64, Summary)>,
    /// Whether there are more.
    pub has_more: bool,
    /// How many match in all.
    pub total: u64,
}

/// How many documents a user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// [`State::Pending`]
    pub pending: u64,
    /// [`State::Ready`]
    pub ready: u64,
    /// [`State::Failed`]
    pub failed: u64,
}

/// What the server's own tools over documents are called by where others have the id of their toolkit: in records, metrics
/// and traces, and where users and clients choose tools. No toolkit has this id.
pub const TOOLS: &str = "knowledge";

/// What to search for, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// In the user's words.
    pub text: String,
    /// Whether operators in the text count, such as `-word`: in what people type, and not in what a toolkit asks.
    pub has_operators: bool,
    /// How many results at most, 1 to [`MAX_RESULTS`].
    pub limit: u32,
    /// How many of the best to leave out: those that were shown before.
    pub offset: u32,
    /// Only documents of this source; exact.
    pub source: Option<String>,
    /// Only documents with this byline; case does not matter.
    pub author: Option<String>,
}

/// Results of a search that does not say how many.
pub const DEFAULT_RESULTS: u32 = limits::DEFAULT_SEARCH_RESULTS;
/// Results of one search at most.
pub const MAX_RESULTS: u32 = limits::MAX_SEARCH_RESULTS;

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Whether there are more.
    pub has_more: bool,
    /// How they were found.
    pub mode: Mode,
}

/// One document that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The document.
    pub document: Summary,
    /// The passage that matched best, around the words of the query.
    pub snippet: String,
    /// Where the snippet has words of the query, in bytes: in order, and apart from each other.
    pub words: Vec<Range<usize>>,
    /// Higher is better; comparable within one search only.
    pub score: f64,
}

/// What search goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Words and meaning.
    Hybrid,
    /// Words alone: there is no model.
    FullText,
}
