//! Documents and errors of the knowledge base.

use kitbag_knowledge as base;
use tracing::error;

use super::interfaces::{ingest, knowledge, search};

impl From<base::KnowledgeError> for knowledge::KnowledgeError {
    fn from(refusal: base::KnowledgeError) -> Self {
        match refusal {
            base::KnowledgeError::NotFound => Self::NotFound,
            base::KnowledgeError::Invalid(problems) => Self::Invalid(problems.to_string()),
            base::KnowledgeError::Collection(error) => Self::Invalid(error.to_string()),
            base::KnowledgeError::Unavailable(reason) => Self::Unavailable(reason.to_owned()),
            // A retry does not help: the user has to delete something.
            base::KnowledgeError::Quota(exceeded) => Self::Invalid(exceeded.to_string()),
            base::KnowledgeError::TooManyUploads(refusal) => Self::Unavailable(refusal.to_string()),
            base::KnowledgeError::DiskFull(full) => Self::Unavailable(full.to_string()),
            base::KnowledgeError::Storage(cause) if cause.is_user_ended() => Self::Invalid(cause.to_string()),
            base::KnowledgeError::Storage(cause) => {
                error!(%cause, "the knowledge base failed");
                Self::Unavailable("the knowledge base cannot be reached now; try again later".to_owned())
            }
        }
    }
}

impl From<base::Hit> for search::SearchResult {
    fn from(hit: base::Hit) -> Self {
        Self { document: hit.document.into(), snippet: hit.snippet, score: hit.score }
    }
}

impl From<base::Summary> for search::DocumentSummary {
    fn from(it: base::Summary) -> Self {
        let base::Summary { id, title, url, author, source, feed, .. } = it;
        Self { id, title, url, author, source, feed: feed.map(|feed| feed.name) }
    }
}

impl From<base::Document> for search::Document {
    fn from(it: base::Document) -> Self {
        Self { summary: it.summary.into(), text: it.text }
    }
}

impl From<ingest::Document> for base::NewDocument {
    fn from(it: ingest::Document) -> Self {
        let feed = |feed: ingest::Feed| base::NewFeed { key: feed.key, name: feed.name, label: feed.label };
        Self {
            title: it.title,
            title_is_name: false,
            text: it.text,
            url: it.url,
            author: it.author,
            file_url: it.file_url,
            audio_url: it.audio_url,
            mime_type: it.mime_type,
            capture_only: it.capture_only,
            feed: it.feed.map(feed),
        }
    }
}
