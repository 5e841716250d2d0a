//! Text → passages.

/// A part of a document as search sees it.
pub(super) struct Passage {
    pub(super) text: String,
    /// Its words, counted.
    pub(super) terms: Vec<u8>,
}

/// Splits a document.
pub(super) fn split(title: &str, text: &str) -> Vec<Passage> {
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    [title]
        .into_iter()
        .chain(paragraphs)
        .map(|text| Passage { text: text.to_owned(), terms: Vec::new() })
        .collect()
}
