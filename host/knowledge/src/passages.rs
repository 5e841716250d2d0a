//! Documents in passages: as long as a model reads at once, cut where sentences and words end.
//!
//! Invariant: the time is in proportion to the text, whatever the text is. So the text is measured once,
//! in segments of bounded size, and no passage is longer than its number of words suggests.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use text_splitter::{ChunkConfig, ChunkSizer, TextSplitter};
use tokenizers::Tokenizer;
use unicode_segmentation::UnicodeSegmentation;

use super::embedding::Embedder;
use super::words::{self, Language};

/// A part of a document, as it is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// The text; empty where a document has none, and is found by its title.
    pub text: String,
    /// Its words and those of the title, counted: of the whole title in the first passage, and of its
    /// beginning in the others.
    pub terms: Vec<u8>,
}

/// Cuts documents into passages that fit a model.
#[derive(Clone)]
pub(super) struct Splitter {
    /// The model's own, which knows best how much it can read.
    tokenizer: Option<Arc<Tokenizer>>,
    /// How many tokens a passage may have, with its title.
    window: usize,
}

/// What the model reads of a passage: what it is about, and what it says.
pub(super) fn embedded(title: &str, text: &str) -> String {
    let title = beginning(title);
    match (title.is_empty(), text.is_empty()) {
        (false, false) => format!("{title}\n{text}"),
        (false, true) => title.to_owned(),
        (true, _) => text.to_owned(),
    }
}

impl Splitter {
    /// Goes by the tokens of the model where it is here; else by words, so that most models can read
    /// the passages later.
    pub(super) fn new(embedder: Option<&Embedder>) -> Self {
        match embedder.and_then(Embedder::tokenizer) {
            Some((tokenizer, window)) => Self { tokenizer: Some(tokenizer), window },
            None => Self { tokenizer: None, window: WINDOW },
        }
    }

    /// Cuts a document: one passage at least.
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

/// Tokens of a passage where no model says otherwise: what all-MiniLM-L6-v2 reads.
pub(super) const WINDOW: usize = 256;

/// Tokens that two neighbours share, so that what stands across their border is found.
const OVERLAP: usize = 24;

/// Tokens that are left for a passage, however long its title is.
const MIN_TOKENS: usize = 64;

/// Tokens that models put around a text, and one between title and passage.
const FRAME: usize = 3;

/// English has that many; more do not hurt, because models leave out what is too long.
const TOKENS_PER_HUNDRED_WORDS: usize = 133;

/// English has four or five; a "word" of a megabyte must not be one token of one passage.
const BYTES_PER_TOKEN: usize = 8;

/// Characters of a title that the model reads.
const TITLE: usize = 160;

/// The splitter looks at all that is left, again and again: so it gets that many bytes at a time.
const SEGMENT: usize = 16 << 10;

/// How long the slices of one text are, in tokens.
struct Measure {
    /// Where the text is in memory; a slice of it tells by its own address where it begins.
    address: usize,
    /// Where each token begins, in bytes from the beginning of the text; ascending.
    starts: Vec<usize>,
    /// Tokens for each hundred of `starts`.
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

/// Parts of at most [`SEGMENT`] bytes that hold more than white space, cut at the end of a paragraph, a
/// line, a sentence or a word where there is one in the second half.
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
