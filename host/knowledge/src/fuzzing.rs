//! Entry points for `fuzz/`.

use kitbag_manifest::Problems;

pub use super::index::file::fuzzing::{index, is_index};
pub use super::search::operators::fuzzing::{Phrase, Search, search};

use super::document::NewDocument;
use super::ingest;

/// A validated document, reduced to the fields that are stored.
#[derive(Debug)]
pub struct Valid {
    /// Title.
    pub title: String,
    /// Body.
    pub text: String,
    /// Normalised URL.
    pub url: Option<String>,
    /// Normalised file URL.
    pub file_url: Option<String>,
    /// Key by which a repeated ingest is recognised as the same document.
    pub identity: String,
}

/// Checks a batch of documents.
pub fn validate(documents: Vec<NewDocument>) -> Result<Vec<Valid>, Problems> {
    let valid = ingest::validate(documents)?.into_iter();
    Ok(valid
        .map(|it| Valid {
            title: it.title,
            text: it.text,
            url: it.url,
            file_url: it.file_url,
            identity: it.identity,
        })
        .collect())
}
