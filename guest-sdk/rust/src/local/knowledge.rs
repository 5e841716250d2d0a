//! A knowledge base in memory, behind the same scopes and rules.

use kitbag_manifest::{SCOPE_INGEST, SCOPE_SEARCH};

use super::Platform;
use crate::{Document, IngestDocument, SearchOptions, SearchResult, SvcError};

const DEFAULT_LIMIT: u32 = 10;
const MAX_LIMIT: u32 = 50;

/// How much of a document's text a match shows.
const SNIPPET_CHARS: usize = 200;

impl Platform {
    pub(crate) fn search(&self, query: &str, options: SearchOptions) -> Result<Vec<SearchResult>, SvcError> {
        self.needs_scope(SCOPE_SEARCH)?;
        let SearchOptions { limit, source, author } = options;
        let limit = limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(SvcError::Invalid(format!("limit: must be between 1 and {MAX_LIMIT}")));
        }

        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<SearchResult> = self
            .world()
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
        self.needs_scope(SCOPE_SEARCH)?;
        let found = self.world().documents.iter().find(|document| document.summary.id == id);
        found.cloned().ok_or(SvcError::NotFound)
    }

    pub(crate) fn ingest(&self, documents: Vec<IngestDocument>) -> Result<usize, SvcError> {
        self.needs_scope(SCOPE_INGEST)?;
        for (index, document) in documents.iter().enumerate() {
            check(document).map_err(|why| SvcError::Invalid(format!("documents[{index}].{why}")))?;
        }
        let stored = documents.len();
        self.world().ingested.borrow_mut().extend(documents);
        Ok(stored)
    }

    /// In the sandbox, a component that uses a scope without declaring it is refused at deploy.
    fn needs_scope(&self, scope: &str) -> Result<(), SvcError> {
        if self.world().definition.has_scope(scope) {
            return Ok(());
        }
        Err(SvcError::Invalid(format!("the toolkit does not declare the scope {scope}")))
    }
}

fn has_byline(document: &Document, author: &str) -> bool {
    document.summary.author.as_ref().is_some_and(|byline| byline.to_lowercase() == author.to_lowercase())
}

/// The score is the part of the query's words that the document holds.
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

fn check(document: &IngestDocument) -> Result<(), &'static str> {
    let blank = |text: &str| text.trim().is_empty();
    let has_file = document.file_url.is_some() || document.audio_url.is_some();
    if blank(&document.title) {
        return Err("title: must not be empty");
    }
    if !has_file && document.text.as_deref().is_none_or(blank) {
        return Err("text: is required where there is neither file_url nor audio_url");
    }
    match &document.feed {
        Some(feed) if blank(&feed.key) => Err("feed.key: must not be empty"),
        Some(feed) if blank(&feed.name) => Err("feed.name: must not be empty"),
        _ => Ok(()),
    }
}
