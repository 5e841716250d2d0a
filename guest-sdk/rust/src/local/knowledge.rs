//! In-memory knowledge base for tests, with the scope checks and rules of a server.

use kitbag_manifest::documents::check;
use kitbag_manifest::knowledge::{check_search, undeclared_scope};
use kitbag_manifest::limits::DEFAULT_SEARCH_RESULTS;
use kitbag_manifest::{Problems, SCOPE_INGEST, SCOPE_SEARCH};

use super::platform::Platform;
use crate::{Document, IngestDocument, SearchOptions, SearchResult, SvcError};

/// Maximum length of a search result's snippet, in characters.
const SNIPPET_CHARS: usize = 200;

impl Platform {
    pub(crate) fn search(&self, query: &str, options: SearchOptions) -> Result<Vec<SearchResult>, SvcError> {
        self.require_scope(SCOPE_SEARCH)?;
        let SearchOptions { limit, source, author } = options;
        let limit = limit.unwrap_or(DEFAULT_SEARCH_RESULTS);
        check_search(query, limit).map_err(|problems| invalid(&problems))?;

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
        check(documents.clone()).map_err(|problems| invalid(&problems))?;
        let stored = documents.len();
        self.state().ingested.borrow_mut().extend(documents);
        Ok(stored)
    }

    /// Returns an error if the toolkit does not declare the scope. A server refuses such a component at
    /// deploy.
    fn require_scope(&self, scope: &str) -> Result<(), SvcError> {
        if self.state().definition.has_scope(scope) {
            return Ok(());
        }
        Err(SvcError::Invalid(undeclared_scope(scope)))
    }
}

fn invalid(problems: &Problems) -> SvcError {
    SvcError::Invalid(problems.to_string())
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
