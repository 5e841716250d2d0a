//! Calls the knowledge base through the WIT contract.

use super::bindings::kitbag::toolkit::{ingest, knowledge, search};
use super::platform::Platform;
use crate::{Document, DocumentSummary, IngestDocument, IngestFeed, SearchOptions, SearchResult, SvcError};

impl Platform {
    pub(crate) fn search(&self, query: &str, options: SearchOptions) -> Result<Vec<SearchResult>, SvcError> {
        let SearchOptions { limit, source, author } = options;
        let found = search::search(query, &search::SearchOptions { limit, source, author })?;
        Ok(found.into_iter().map(Into::into).collect())
    }

    pub(crate) fn get_document(&self, id: &str) -> Result<Document, SvcError> {
        let document = search::get_document(id)?;
        Ok(Document { summary: document.summary.into(), text: document.text })
    }

    pub(crate) fn ingest(&self, documents: Vec<IngestDocument>) -> Result<usize, SvcError> {
        let documents: Vec<_> = documents.into_iter().map(Into::into).collect();
        let stored = ingest::ingest(&documents)?;
        Ok(usize::try_from(stored).expect("a count of what memory held fits a usize"))
    }
}

impl From<knowledge::KnowledgeError> for SvcError {
    fn from(error: knowledge::KnowledgeError) -> Self {
        match error {
            knowledge::KnowledgeError::NotFound => Self::NotFound,
            knowledge::KnowledgeError::Invalid(why) => Self::Invalid(why),
            knowledge::KnowledgeError::Unavailable(why) => Self::Unavailable(why),
        }
    }
}

impl From<search::SearchResult> for SearchResult {
    fn from(it: search::SearchResult) -> Self {
        Self { document: it.document.into(), snippet: it.snippet, score: it.score }
    }
}

impl From<search::DocumentSummary> for DocumentSummary {
    fn from(it: search::DocumentSummary) -> Self {
        Self { id: it.id, title: it.title, url: it.url, author: it.author, source: it.source, feed: it.feed }
    }
}

impl From<IngestDocument> for ingest::Document {
    fn from(it: IngestDocument) -> Self {
        Self {
            title: it.title,
            text: it.text,
            url: it.url,
            author: it.author,
            file_url: it.file_url,
            audio_url: it.audio_url,
            mime_type: it.mime_type,
            capture_only: it.capture_only,
            feed: it.feed.map(|IngestFeed { key, name, label }| ingest::Feed { key, name, label }),
        }
    }
}
