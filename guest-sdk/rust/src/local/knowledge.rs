//! The documents of a call in a test.

use kitbag_manifest::test_host::ingested::{IngestedDocument, ingest};
use kitbag_manifest::test_host::knowledge::{Search, SearchedDocument, search};
use kitbag_manifest::test_host::require_scope;
use kitbag_manifest::{Problems, SCOPE_INGEST, SCOPE_SEARCH};

use super::platform::Platform;
use crate::{Document, DocumentSummary, IngestDocument, SearchOptions, SearchResult, SvcError};

/// The user's knowledge base.
#[derive(Default)]
pub(super) struct Library {
    documents: Vec<Document>,
    /// Key of each document that the call has ingested.
    keys: Vec<Option<String>>,
}

impl Library {
    /// Creates a knowledge base with the documents that a test provides.
    pub(super) fn of(documents: Vec<Document>) -> Self {
        Self { keys: vec![None; documents.len()], documents }
    }
}

impl Platform {
    pub(crate) fn search(&self, query: &str, options: SearchOptions) -> Result<Vec<SearchResult>, SvcError> {
        self.require(SCOPE_SEARCH)?;
        let SearchOptions { limit, source, author } = options;
        let documents = &self.state().library.borrow().documents;
        let searched = documents.iter().map(|Document { summary, text }| SearchedDocument {
            title: &summary.title,
            text,
            source: &summary.source,
            author: summary.author.as_deref(),
        });
        let hits = search(searched, &Search { query: query.to_owned(), limit, source, author })?;
        let result = hits.into_iter().map(|hit| SearchResult {
            document: documents[hit.index].summary.clone(),
            snippet: hit.snippet,
            score: hit.score,
        });
        Ok(result.collect())
    }

    pub(crate) fn get_document(&self, id: &str) -> Result<Document, SvcError> {
        self.require(SCOPE_SEARCH)?;
        let library = self.state().library.borrow();
        library.documents.iter().find(|it| it.summary.id == id).cloned().ok_or(SvcError::NotFound)
    }

    pub(crate) fn ingest(&self, documents: Vec<IngestDocument>) -> Result<usize, SvcError> {
        self.require(SCOPE_INGEST)?;
        let state = self.state();
        let Library { documents: stored, keys } = &mut *state.library.borrow_mut();
        let secrets = state.network.borrow().redactor();
        let placed = ingest(&state.definition.id, keys, documents.clone(), &secrets)?;
        for it in placed {
            if it.index == stored.len() {
                stored.push(Document::default());
                keys.push(None);
            }
            stored[it.index] = it.document.into();
            keys[it.index] = Some(it.key);
        }
        let count = documents.len();
        state.effects.ingested.borrow_mut().extend(documents);
        Ok(count)
    }

    fn require(&self, scope: &str) -> Result<(), SvcError> {
        require_scope(&self.state().definition, scope).map_err(SvcError::Invalid)
    }
}

impl From<Problems> for SvcError {
    fn from(problems: Problems) -> Self {
        Self::Invalid(problems.to_string())
    }
}

impl From<IngestedDocument> for Document {
    fn from(document: IngestedDocument) -> Self {
        let IngestedDocument { id, title, text, url, author, source, feed } = document;
        Self { summary: DocumentSummary { id, title, url, author, source, feed }, text }
    }
}
