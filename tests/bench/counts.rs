//! The counts of `toolkits/text`, for the servers in Rust that Kitbag is compared with.

use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation as _;

/// The tool's result; the program compares the replies of all servers before it measures.
#[derive(Serialize)]
pub(crate) struct Counts {
    pub(crate) words: usize,
    pub(crate) characters: usize,
    pub(crate) characters_without_spaces: usize,
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
    pub(crate) sentences: usize,
    pub(crate) paragraphs: usize,
}

impl Counts {
    /// Counts words, characters, lines and so on.
    pub(crate) fn of(text: &str) -> Self {
        let characters: Vec<_> = text.graphemes(true).collect();
        Self {
            words: text.unicode_words().count(),
            characters: characters.len(),
            characters_without_spaces: characters.iter().filter(|it| !it.trim().is_empty()).count(),
            bytes: text.len(),
            lines: text.lines().count(),
            sentences: text.unicode_sentences().count(),
            paragraphs: text.split("\n\n").count(),
        }
    }
}
