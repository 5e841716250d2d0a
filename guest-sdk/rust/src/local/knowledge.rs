//! An in-memory knowledge base for tests, with the scopes and some of the rules of the real one.

use kitbag_manifest::limits::{DEFAULT_SEARCH_RESULTS, MAX_SEARCH_RESULTS};
use kitbag_manifest::{SCOPE_INGEST, SCOPE_SEARCH};

use super::Platform;
use crate::{Document, IngestDocument, SearchOptions, SearchResult, SvcError};

/// Maximum length of a search result's snippet.
const SNIPPET_CHARS: usize = 200;

impl Platform {
    pub(crate) fn search(&self, query: &str, options: SearchOptions) -> Result<Vec<SearchResult>, SvcError> {
        self.require_scope(SCOPE_SEARCH)?;
        let SearchOptions { limit, source, author } = options;
        let limit = limit.unwrap_or(DEFAULT_SEARCH_RESULTS);
        if !(1..=MAX_SEARCH_RESULTS).contains(&limit) {
            return Err(SvcError::Invalid(format!(
                "limit: is {limit}, and may be 1 to {MAX_SEARCH_RESULTS}"
            )));
        }

        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<SearchResult> = self
            .state()
            .documents
            .iter()
            .filter(|document| source.as_ref().is_none_or(|source| *source == document.summary.source))
            .filter(|document| author.as_ref().is_none_or(|author| has_byline(document, author)))
            .filter_map(|document| match_words(document, &words))
            .collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(usize::try_from(limit).expect("50 fits a usize"));
        Ok(found)
    }

    pub(crate) fn get_document(&self, id: &str) -> Result<Document, SvcError> {
        self.require_scope(SCOPE_SEARCH)?;
        let found = self.state().documents.iter().find(|document| document.summary.id == id);
        found.cloned().ok_or(SvcError::NotFound)
    }

    pub(crate) fn ingest(&self, documents: Vec<IngestDocument>) -> Result<usize, SvcError> {
        self.require_scope(SCOPE_INGEST)?;
        let problems: Vec<String> = documents
            .iter()
            .enumerate()
            .flat_map(|(index, document)| {
                check(document).into_iter().map(move |why| format!("documents[{index}].{why}"))
            })
            .collect();
        if !problems.is_empty() {
            return Err(SvcError::Invalid(problems.join("\n")));
        }
        let stored = documents.len();
        self.state().ingested.borrow_mut().extend(documents);
        Ok(stored)
    }

    /// Refuses a call whose scope is not declared. On a server, such a component is refused at deploy.
    fn require_scope(&self, scope: &str) -> Result<(), SvcError> {
        if self.state().definition.has_scope(scope) {
            return Ok(());
        }
        Err(SvcError::Invalid(format!("the toolkit does not declare the scope {scope}")))
    }
}

fn has_byline(document: &Document, author: &str) -> bool {
    document.summary.author.as_ref().is_some_and(|byline| byline.to_lowercase() == author.to_lowercase())
}

/// Scores a document by the fraction of the query's words that it contains; `None` if it contains none.
fn match_words(document: &Document, words: &[String]) -> Option<SearchResult> {
    let text = format!("{} {}", document.summary.title, document.text).to_lowercase();
    let hits = words.iter().filter(|word| text.contains(word.as_str())).count();
    let score = f64::from(u32::try_from(hits).ok()?) / f64::from(u32::try_from(words.len()).ok()?);
    (hits > 0).then(|| SearchResult {
        document: document.summary.clone(),
        snippet: document.text.chars().take(SNIPPET_CHARS).collect(),
        score,
    })
}

/// Checks the rules of the knowledge base that handlers are likely to break, with its error texts. The
/// knowledge base also checks URLs and lengths.
fn check(document: &IngestDocument) -> Vec<&'static str> {
    let blank = |text: &str| text.trim().is_empty();
    let has_file = document.file_url.is_some() || document.audio_url.is_some();
    let feed = document.feed.as_ref();
    let rules = [
        (blank(&document.title), "title: must not be empty"),
        (document.mime_type.is_some() && !has_file, "mimeType: needs fileUrl: it says what that file is"),
        (
            document.file_url.is_some() && document.audio_url.is_some(),
            "audioUrl: must not stand beside fileUrl: a document has one file",
        ),
        (
            document.capture_only && !has_file,
            "captureOnly: needs fileUrl or audioUrl: there is nothing to capture",
        ),
        (
            !has_file && document.text.as_deref().is_none_or(blank),
            "text: is required where there is neither fileUrl nor audioUrl",
        ),
        (feed.is_some_and(|feed| blank(&feed.key)), "feed.key: must not be empty"),
        (feed.is_some_and(|feed| blank(&feed.name)), "feed.name: must not be empty"),
    ];
    rules.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, why)| why).collect()
}
