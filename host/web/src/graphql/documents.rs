//! GraphQL types of documents.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use kitbag_access::values::knowledge::{self, Counts, Found, Hit, Mode, Page, State, StateName, Summary};
use kitbag_base::base_url::below;

use super::RequestContext;
use super::schema::{LIST_COST, READ_COST, TEXT_COST};
use crate::error::WebError;

pub(super) struct Document(pub(super) Summary);

/// Something that you can search for.
#[Object]
impl Document {
    /// Opaque, and the same for ever.
    async fn id(&self) -> ID {
        ID::from(&self.0.id)
    }

    async fn title(&self) -> &str {
        &self.0.title
    }

    /// Where the title comes from.
    async fn title_origin(&self) -> TitleOrigin {
        self.0.title_origin.into()
    }

    /// The character encoding that its file was read in, by its name in the Encoding Standard: of text files and web pages.
    async fn encoding(&self) -> Option<&str> {
        self.0.encoding.as_deref()
    }

    /// The language that its title and the beginning of its text seem to be in: an ISO 639-3 code such as `deu`.
    #[graphql(complexity = "TEXT_COST")]
    async fn language(&self, context: &Context<'_>) -> Result<Option<&'static str>, WebError> {
        RequestContext::of(context).language(&self.0.id).await
    }

    /// Canonical URL of the original.
    async fn url(&self) -> Option<&str> {
        self.0.url.as_deref()
    }

    /// Free-text byline.
    async fn author(&self) -> Option<&str> {
        self.0.author.as_deref()
    }

    /// The collection that it is in; null for your own documents.
    async fn collection(&self) -> Option<&str> {
        self.0.holder.collection_id()
    }

    /// The user who added it.
    async fn added_by(&self) -> &str {
        &self.0.added_by
    }

    /// The user who changed it last.
    async fn changed_by(&self) -> &str {
        &self.0.changed_by
    }

    /// The number of its present text, from 1.
    async fn version(&self) -> u32 {
        self.0.version
    }

    /// Its earlier texts, newest first.
    #[graphql(complexity = "LIST_COST + 10 * child_complexity")]
    async fn versions(&self, context: &Context<'_>) -> Result<Vec<Version>, WebError> {
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        let versions = request.user.documents().versions(&self.0.id).await?;
        Ok(versions.into_iter().map(|version| Version { document: self.0.id.clone(), version }).collect())
    }

    /// When it went to the bin: RFC 3339, UTC; null unless it is there.
    async fn deleted_at(&self) -> Option<String> {
        self.0.deleted.as_ref().map(|deletion| time(deletion.at))
    }

    /// Who has deleted it; null unless it is in the bin.
    async fn deleted_by(&self) -> Option<&str> {
        self.0.deleted.as_ref().map(|deletion| deletion.by.as_str())
    }

    /// The id of the toolkit that ingested it, or `user`.
    async fn source(&self) -> &str {
        &self.0.source
    }

    /// The sub-group of its source that it belongs to.
    async fn feed(&self) -> Option<Feed> {
        let collection = self.0.holder.collection_id().map(str::to_owned);
        Some(Feed { feed: self.0.feed.clone()?, collection })
    }

    /// The body, or what was read from the captured file; empty until that was done.
    #[graphql(complexity = "TEXT_COST")]
    async fn text(&self, context: &Context<'_>) -> Result<String, WebError> {
        RequestContext::of(context).text(&self.0.id).await
    }

    /// How far it is.
    async fn state(&self) -> DocumentState {
        (&self.0.state).into()
    }

    /// Why it failed.
    async fn reason(&self) -> Option<&str> {
        match &self.0.state {
            State::Failed(reason) => Some(reason),
            State::Pending | State::Ready => None,
        }
    }

    /// The captured file, once it is there.
    async fn artifact(&self, context: &Context<'_>) -> Option<Artifact> {
        let knowledge::Artifact { size, media_type, .. } = self.0.artifact.clone()?;
        let url = below(&RequestContext::of(context).base_url, &format!("/documents/{}/artifact", self.0.id));
        Some(Artifact { media_type, size: bytes(size), url })
    }

    /// When it came: RFC 3339, UTC.
    async fn created_at(&self) -> String {
        time(self.0.created_at)
    }

    /// When it last changed: RFC 3339, UTC.
    async fn updated_at(&self) -> String {
        time(self.0.updated_at)
    }
}

/// A captured file.
#[derive(SimpleObject)]
pub(super) struct Artifact {
    /// What its bytes are.
    media_type: String,
    /// Bytes; a whole number.
    size: f64,
    /// Where to download it, with your token.
    url: String,
}

/// Where the title of a document comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(super) enum TitleOrigin {
    /// Whoever ingested the document gave it.
    Given,
    /// It was found in the file.
    File,
    /// It is the name of the file, which has no title of its own, or was not read yet.
    FileName,
}

impl From<knowledge::TitleOrigin> for TitleOrigin {
    fn from(origin: knowledge::TitleOrigin) -> Self {
        match origin {
            knowledge::TitleOrigin::Given => Self::Given,
            knowledge::TitleOrigin::File => Self::File,
            knowledge::TitleOrigin::FileName => Self::FileName,
        }
    }
}

/// How far a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(super) enum DocumentState {
    /// It is stored; search finds it soon.
    Pending,
    /// Search finds it.
    Ready,
    /// Something went wrong for good; `reason` says what.
    Failed,
}

impl From<&State> for DocumentState {
    fn from(state: &State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Ready => Self::Ready,
            State::Failed(_) => Self::Failed,
        }
    }
}

impl From<DocumentState> for StateName {
    fn from(state: DocumentState) -> Self {
        match state {
            DocumentState::Pending => Self::Pending,
            DocumentState::Ready => Self::Ready,
            DocumentState::Failed => Self::Failed,
        }
    }
}

pub(super) struct Feed {
    pub(super) feed: knowledge::Feed,
    /// The collection that it is in; `None` for a feed of the user.
    pub(super) collection: Option<String>,
}

struct Version {
    document: String,
    version: knowledge::Version,
}

/// An earlier text of a document.
#[Object]
impl Version {
    /// From 1, in their order; some are missing.
    async fn number(&self) -> u32 {
        self.version.number
    }

    async fn title(&self) -> &str {
        &self.version.title
    }

    /// From when on it was the text: RFC 3339, UTC.
    async fn changed_at(&self) -> String {
        time(self.version.changed_at)
    }

    /// Until when it was the text: RFC 3339, UTC.
    async fn replaced_at(&self) -> String {
        time(self.version.replaced_at)
    }

    /// The user who gave it.
    async fn changed_by(&self) -> &str {
        &self.version.changed_by
    }

    /// Its text.
    #[graphql(complexity = "TEXT_COST")]
    async fn text(&self, context: &Context<'_>) -> Result<String, WebError> {
        RequestContext::of(context).version_text(&self.document, self.version.number).await
    }
}

/// A sub-group of a source's documents: a channel, a show, a site.
#[Object]
impl Feed {
    /// The entity's stable id upstream.
    async fn key(&self) -> &str {
        &self.feed.key
    }

    async fn name(&self) -> &str {
        &self.feed.name
    }

    /// Word for the kind of grouping, such as "channel".
    async fn label(&self) -> Option<&str> {
        self.feed.label.as_deref()
    }

    /// The source whose feed it is.
    async fn source(&self) -> &str {
        &self.feed.source
    }

    /// How many documents it has.
    #[graphql(complexity = "READ_COST")]
    async fn document_count(&self, context: &Context<'_>) -> Result<u64, WebError> {
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        let documents = request.user.documents().of(self.collection.as_deref())?;
        Ok(documents.feed_size(&self.feed).await?)
    }
}

/// How many documents are in which state.
#[derive(SimpleObject)]
pub(super) struct DocumentCounts {
    total: u64,
    pending: u64,
    ready: u64,
    failed: u64,
}

impl From<Counts> for DocumentCounts {
    fn from(Counts { pending, ready, failed }: Counts) -> Self {
        Self { total: pending + ready + failed, pending, ready, failed }
    }
}

/// What one user's documents are, and what they may be.
#[derive(SimpleObject)]
pub(super) struct Usage {
    /// How many there are.
    documents: u64,
    /// How many there may be.
    documents_quota: u64,
    /// Bytes of what is kept of them as it was given (titles, texts, URLs, authors, feeds), of what was read
    /// from their files, and of the files; a whole number.
    bytes: f64,
    /// How many bytes there may be; a whole number.
    bytes_quota: f64,
}

impl Usage {
    pub(super) fn new(usage: knowledge::Usage, quota: knowledge::Quota) -> Self {
        Self {
            documents: usage.documents,
            documents_quota: quota.documents,
            bytes: bytes(usage.bytes),
            bytes_quota: bytes(quota.bytes),
        }
    }
}

pub(super) struct DocumentConnection(pub(super) Page);

impl DocumentConnection {
    /// Returns the position that a cursor of [`PageInfo`] encodes.
    pub(super) fn position(cursor: &str) -> Result<i64, WebError> {
        read_cursor("documents", cursor)
    }
}

/// A page of your documents.
#[Object]
impl DocumentConnection {
    /// How many there are on all pages.
    async fn total_count(&self) -> u64 {
        self.0.total
    }

    async fn nodes(&self) -> Vec<Document> {
        self.0.documents.iter().map(|(_, summary)| Document(summary.clone())).collect()
    }

    async fn edges(&self) -> Vec<DocumentEdge> {
        let edge = |(position, summary): &(i64, Summary)| DocumentEdge {
            cursor: cursor("documents", *position),
            node: Document(summary.clone()),
        };
        self.0.documents.iter().map(edge).collect()
    }

    async fn page_info(&self) -> PageInfo {
        let last = self.0.documents.last();
        PageInfo {
            end_cursor: last.map(|(position, _)| cursor("documents", *position)),
            has_next_page: self.0.has_more,
        }
    }
}

/// A document and its place in the list.
#[derive(SimpleObject)]
pub(super) struct DocumentEdge {
    cursor: String,
    node: Document,
}

/// Where a page ends.
#[derive(Clone, SimpleObject)]
pub(super) struct PageInfo {
    /// Give it as `after` to get the next page.
    end_cursor: Option<String>,
    has_next_page: bool,
}

/// What a search found.
#[derive(SimpleObject)]
pub(super) struct SearchResults {
    /// Best first.
    results: Vec<SearchResult>,
    /// How they were found.
    mode: SearchMode,
    /// How many documents are found by their meaning too; null where the mode is words alone.
    coverage: Option<SearchCoverage>,
    /// Whether the best one is likely to be about what was asked. False: the nearest are listed, but probably do not
    /// answer it.
    good_match: bool,
    page_info: PageInfo,
}

/// How much of your documents the model has read: until it has read one, that is found by its words.
#[derive(SimpleObject)]
pub(super) struct SearchCoverage {
    /// Those that it has read.
    embedded: usize,
    /// All that can be found.
    documents: usize,
}

impl SearchResults {
    /// Creates a page of results that begins after `offset` others.
    pub(super) fn new(found: Found, offset: u32) -> Self {
        let shown = i64::from(offset) + i64::try_from(found.hits.len()).unwrap_or(i64::MAX);
        let page_info = PageInfo {
            end_cursor: (!found.hits.is_empty()).then(|| cursor("search", shown)),
            has_next_page: found.has_more,
        };
        let mode = match found.mode {
            Mode::Hybrid => SearchMode::Hybrid,
            Mode::FullText => SearchMode::FullText,
        };
        let coverage =
            found.coverage.map(|it| SearchCoverage { embedded: it.embedded, documents: it.documents });
        Self {
            results: found.hits.into_iter().map(Into::into).collect(),
            mode,
            coverage,
            good_match: found.has_good_match,
            page_info,
        }
    }

    /// Returns the number of results on earlier pages, which the cursor encodes.
    pub(super) fn offset(cursor: &str) -> Result<u32, WebError> {
        u32::try_from(read_cursor("search", cursor)?).map_err(|_| no_cursor())
    }
}

/// One document that was found.
#[derive(SimpleObject)]
pub(super) struct SearchResult {
    document: Document,
    /// The passage that matched best.
    snippet: String,
    /// Where the snippet has words of the query, in whatever form: in order, and apart from each other.
    matches: Vec<Match>,
    /// How good it is, from 0 to 1, whatever else was found: below 0.4 it is probably not about what was asked. By the default
    /// model; scores by another one are comparable with each other only.
    score: f64,
}

/// A range of characters: Unicode scalar values, from 0.
#[derive(SimpleObject)]
pub(super) struct Match {
    /// Of the first one.
    start: usize,
    /// Behind the last one.
    end: usize,
}

impl From<Hit> for SearchResult {
    fn from(Hit { document, snippet, words, score }: Hit) -> Self {
        let place = |byte| snippet[..byte].chars().count();
        let matches =
            words.iter().map(|word| Match { start: place(word.start), end: place(word.end) }).collect();
        Self { document: Document(document), snippet, matches, score }
    }
}

/// What search goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(super) enum SearchMode {
    /// Words and meaning.
    Hybrid,
    /// Words alone: the server has no model.
    FullText,
}

fn time(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_string()
}

/// Creates an opaque cursor, so that clients do not compute with it; it is valid for one list only.
fn cursor(list: &str, position: i64) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list} {position}"))
}

fn read_cursor(list: &str, cursor: &str) -> Result<i64, WebError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| no_cursor())?;
    let text = std::str::from_utf8(&bytes).ok();
    let position = text.and_then(|text| text.strip_prefix(list)?.strip_prefix(' ')?.parse().ok());
    position.filter(|position| *position >= 0).ok_or_else(no_cursor)
}

fn no_cursor() -> WebError {
    WebError::invalid("after", "is no cursor of this list; give `endCursor` of the page before")
}

/// Converts a number of bytes to a float: GraphQL's Int has 32 bits.
#[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 bytes")]
fn bytes(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_of_one_list_and_nothing_else_is_one() {
        assert_eq!(read_cursor("search", &cursor("search", 10)).ok(), Some(10));
        for wrong in ["", "10", "%", &cursor("documents", 10), &cursor("search", -1), &"A".repeat(99)] {
            assert!(read_cursor("search", wrong).is_err(), "{wrong}");
        }
        assert!(SearchResults::offset(&cursor("search", i64::from(u32::MAX) + 1)).is_err());
    }
}
