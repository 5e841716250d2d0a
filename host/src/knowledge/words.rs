//! Words as search compares them: folded, stemmed, and named by a number of 32 bits.
//!
//! Invariants:
//! - the number of a word never changes: chunks that were written years ago must be found;
//! - everything here takes time in proportion to the text, whatever the text is.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh32::xxh32;

/// A word's number.
pub(super) type Term = u32;

/// How much more a word of the title says than one of the text.
const TITLE_WEIGHT: u16 = 2;

/// Longer words, in bytes, are numbers, keys and the like: no English word, so none to stem.
const MAX_STEMMED_LENGTH: usize = 40;

/// Counts the words of a passage: what a chunk's column `terms` holds.
///
/// The layout, little-endian: how many words there are (`u32`), then for each different one, by its
/// number, the number (`u32`) and how often it is there (`u16`), in the title twice as often.
pub(super) fn count(title: &str, text: &str) -> Vec<u8> {
    let mut counts = BTreeMap::<Term, u16>::new();
    let mut length = 0_u32;
    for (words, weight) in [(terms(title), TITLE_WEIGHT), (terms(text), 1)] {
        for (_, term) in words {
            let count = counts.entry(term).or_default();
            *count = count.saturating_add(weight);
            length = length.saturating_add(1);
        }
    }
    let mut bytes = Vec::with_capacity(HEADER + ENTRY * counts.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    for (term, count) in counts {
        bytes.extend_from_slice(&term.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    bytes
}

/// Reads what [`count`] wrote: the length, and each different word with its count. Nothing where the
/// bytes are something else.
pub(super) fn counted(bytes: &[u8]) -> Option<(u32, impl Iterator<Item = (Term, u16)> + '_)> {
    let (length, entries) = bytes.split_first_chunk::<HEADER>()?;
    let (entries, rest) = entries.as_chunks::<ENTRY>();
    let parsed = entries
        .iter()
        .map(|&[a, b, c, d, e, f]| (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f])));
    rest.is_empty().then(|| (u32::from_le_bytes(*length), parsed))
}

/// The words of a query, each as often as it is there. Words that are in every text are left out, unless there is
/// no other.
pub(super) fn of_query(query: &str) -> Vec<Term> {
    let is_telling = |(range, _): &(Range<usize>, Term)| !is_stop_word(&query[range.clone()]);
    let mut telling: Vec<_> = terms(query).filter(is_telling).map(|(_, term)| term).collect();
    if telling.is_empty() {
        telling = terms(query).map(|(_, term)| term).collect();
    }
    telling
}

/// Where a text has words of the query, in bytes.
pub fn found_words(query: &str, text: &str) -> Vec<Range<usize>> {
    let wanted: HashSet<_> = of_query(query).into_iter().collect();
    terms(text).filter(|(_, term)| wanted.contains(term)).map(|(range, _)| range).collect()
}

/// Each word of a text: where it is, and its number.
pub(super) fn terms(text: &str) -> impl Iterator<Item = (Range<usize>, Term)> + '_ {
    let mut folded = String::new();
    words(text).map(move |range| {
        fold(&text[range.clone()], &mut folded);
        (range, number(&folded))
    })
}

const HEADER: usize = size_of::<u32>();
const ENTRY: usize = size_of::<Term>() + size_of::<u16>();

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// Those of NLTK: words without a meaning of their own. (The longer list of ISO has `system`,
/// `computer`, `world`.)
static STOP_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| stop_words::get(stop_words::Language::English).iter().copied().collect());

/// Splits a text at what Unicode calls word boundaries, and within those words at punctuation:
/// `example.com` and `snake_case` are two words each. Scripts without spaces give characters.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.unicode_word_indices().flat_map(|(start, word)| {
        let mut at = start;
        word.split(is_separator).filter_map(move |part| {
            let range = at..at + part.len();
            // Every separator is one byte long.
            at = range.end + 1;
            part.contains(char::is_alphanumeric).then_some(range)
        })
    })
}

fn is_separator(letter: char) -> bool {
    letter.is_ascii_punctuation() && letter != '\''
}

/// Writes a word without what writers vary: case, accents, forms of the same letter.
fn fold(word: &str, folded: &mut String) {
    folded.clear();
    if word.is_ascii() {
        folded.push_str(word);
        folded.make_ascii_lowercase();
        return;
    }
    let letters = word.nfkd().filter(|letter| !is_accent(*letter)).map(straight);
    folded.extend(letters.flat_map(char::to_lowercase));
}

/// The block of accents of Latin, Greek and Cyrillic. Marks of other scripts are letters.
fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}')
}

fn straight(letter: char) -> char {
    if letter == '\u{2019}' { '\'' } else { letter }
}

fn number(folded: &str) -> Term {
    if folded.len() <= MAX_STEMMED_LENGTH
        && folded.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'\'')
    {
        xxh32(STEMMER.stem(folded).as_bytes(), 0)
    } else {
        xxh32(folded.as_bytes(), 0)
    }
}

fn is_stop_word(word: &str) -> bool {
    let mut folded = String::new();
    fold(word, &mut folded);
    STOP_WORDS.contains(folded.as_str())
}
