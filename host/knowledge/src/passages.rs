//! Splits documents into passages that fit the input size of a model, at sentence and word boundaries.
//!
//! Invariant: the time is proportional to the text, whatever the text is. Therefore the text is measured
//! once, in segments of bounded size, and the length of a passage is limited by its number of words.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use text_splitter::{ChunkConfig, ChunkSizer, TextSplitter};
use tokenizers::Tokenizer;
use unicode_segmentation::UnicodeSegmentation;

use super::embedding::Embedder;
use super::words::{self, Language};

/// Part of a document, as it is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// Text; empty if the document has none and is found by its title.
    pub text: String,
    /// Counted words of the text and the title: of the whole title in the first passage, and of the title's
    /// beginning in the others.
    pub terms: Vec<u8>,
}

/// Splits documents into passages that fit a model.
#[derive(Clone)]
pub(super) struct Splitter {
    /// Tokeniser of the model, which measures exactly how much it can read.
    tokenizer: Option<Arc<Tokenizer>>,
    /// Largest number of tokens of a passage, including the title.
    window: usize,
}

/// Model input for a passage: beginning of the title, and text.
pub(super) fn embedded(title: &str, text: &str) -> String {
    let title = beginning(title);
    match (title.is_empty(), text.is_empty()) {
        (false, false) => format!("{title}\n{text}"),
        (false, true) => title.to_owned(),
        (true, _) => text.to_owned(),
    }
}

impl Splitter {
    /// Measures in tokens of a local model, or else by words, so that most models can read the passages
    /// later.
    pub(super) fn new(embedder: Option<&Embedder>) -> Self {
        match embedder.and_then(Embedder::tokenizer) {
            Some((tokenizer, window)) => Self { tokenizer: Some(tokenizer), window },
            None => Self { tokenizer: None, window: WINDOW },
        }
    }

    /// Splits a document into at least one passage.
    pub(super) fn split(&self, title: &str, text: &str) -> Vec<Passage> {
        let beginning = beginning(title);
        let taken = FRAME + self.measure(beginning).size(beginning);
        let capacity = self.window.saturating_sub(taken).max(MIN_TOKENS);
        let language = Language::of(beginning, text);
        let mut passages = Vec::new();
        let passage = |title: &str, text: &str| Passage {
            text: text.to_owned(),
            terms: words::count(language, title, text),
        };
        for segment in segments(text) {
            let config = ChunkConfig::new(capacity)
                .with_sizer(self.measure(segment))
                .with_overlap(OVERLAP)
                .expect("the overlap is smaller than the smallest capacity");
            for text in TextSplitter::new(config).chunks(segment) {
                let title = if passages.is_empty() { title } else { beginning };
                passages.push(passage(title, text));
            }
        }
        if passages.is_empty() {
            passages.push(passage(title, ""));
        }
        passages
    }

    fn measure(&self, text: &str) -> Measure {
        let tokens = self.tokenizer.as_ref().and_then(|tokenizer| tokenizer.encode(text, false).ok());
        let (starts, percent) = match tokens {
            Some(tokens) => (tokens.get_offsets().iter().map(|(start, _)| *start).collect(), 100),
            None => (text.unicode_word_indices().map(|(start, _)| start).collect(), TOKENS_PER_HUNDRED_WORDS),
        };
        Measure { address: text.as_ptr().addr(), starts, percent }
    }
}

/// Default number of tokens per passage: the input size of all-MiniLM-L6-v2.
pub(super) const WINDOW: usize = 256;

/// Number of tokens that neighbouring passages share, so that text across their border is found.
const OVERLAP: usize = 24;

/// Smallest number of tokens for the text of a passage, however long its title is.
const MIN_TOKENS: usize = 64;

/// Number of tokens that models add around a text, and one between title and passage.
const FRAME: usize = 3;

/// Average of English; a higher actual number is harmless, because models truncate their input.
const TOKENS_PER_HUNDRED_WORDS: usize = 133;

/// English has four or five bytes per token; a "word" of a megabyte must not count as one token.
const BYTES_PER_TOKEN: usize = 8;

/// Number of characters of a title that the model reads.
const TITLE: usize = 160;

/// The splitter scans its whole remaining input repeatedly, so it gets this many bytes at a time.
const SEGMENT: usize = 16 << 10;

/// Token counts of slices of one text.
struct Measure {
    /// Memory address of the text: the position of a slice follows from its own address.
    address: usize,
    /// Byte offsets at which tokens begin; ascending.
    starts: Vec<usize>,
    /// Tokens per hundred of `starts`.
    percent: usize,
}

impl ChunkSizer for Measure {
    fn size(&self, chunk: &str) -> usize {
        let begin = chunk.as_ptr().addr().saturating_sub(self.address);
        let before = |end: usize| self.starts.partition_point(|start| *start < end);
        let tokens = before(begin + chunk.len()).saturating_sub(before(begin)) * self.percent / 100;
        tokens.max(chunk.len().div_ceil(BYTES_PER_TOKEN))
    }
}

/// Splits a text into segments of at most [`SEGMENT`] bytes, at the end of a paragraph, line, sentence or
/// word in the second half, if there is one. Segments of white space only are left out.
fn segments(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let limit = rest.floor_char_boundary(SEGMENT);
        let middle = rest.floor_char_boundary(limit / 2);
        let cut = if limit == rest.len() {
            limit
        } else {
            let end = |border: &str| rest[middle..limit].rfind(border).map(|at| middle + at + border.len());
            ["\n\n", "\n", ". ", " "].into_iter().find_map(end).unwrap_or(limit)
        };
        let (segment, after) = rest.split_at(cut);
        rest = after;
        (!segment.is_empty()).then_some(segment)
    })
    .filter(|segment| !segment.trim().is_empty())
}

fn beginning(title: &str) -> &str {
    let end = title.char_indices().nth(TITLE).map_or(title.len(), |(at, _)| at);
    title[..end].trim()
}
