//! Words in the form in which search compares them: folded, stemmed by the rules of their language, and
//! hashed to 32 bits.
//!
//! Invariants:
//! - the hash of a word never changes: chunks that were written years ago must be found;
//! - every function takes time proportional to the text, whatever the text is.

mod analyzer;
mod fold;
mod language;
mod query;
#[cfg(test)]
mod tests;
mod tokens;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) use self::analyzer::{Analyzer, Analyzers};
pub(super) use self::language::Language;
pub(super) use self::language::is_stop_word;
pub use self::language::language_of;
pub(super) use self::query::{QueryWord, of_phrase, of_query};

/// XXH32 hash of a folded, stemmed word.
pub(super) type Term = u32;

/// Weight of a title word relative to a word of the text.
const TITLE_WEIGHT: u16 = 2;

/// Normalises a text for indexing and search: removes invisible hyphenation characters, and converts
/// subscript digits, so that CO₂ and CO2 are one word.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let is_changed = |letter: char| is_division(letter) || matches!(letter, '₀'..='₉');
    if text.is_ascii() || !text.contains(is_changed) {
        return Cow::Borrowed(text);
    }
    // In Thai, Lao, Burmese and Khmer, the only characters that separate words.
    let keeps_spaces = text.contains(
        |letter| matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'),
    );
    let is_kept = |letter: &char| !is_division(*letter) || (*letter == '\u{200b}' && keeps_spaces);
    let letters = text.chars().filter(is_kept);
    let digit = |letter: char| u32::from(letter) - u32::from('₀');
    let letters = letters.map(|letter| match letter {
        '₀'..='₉' => char::from_digit(digit(letter), 10).unwrap_or(letter),
        _ => letter,
    });
    Cow::Owned(letters.collect())
}

/// Soft hyphen, zero-width space, word joiner, byte order mark.
fn is_division(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Counts the words of a passage of a document in a language. Returns the bytes of a chunk's column `terms`.
///
/// Layout, little-endian: number of words (24 bits), analyzer (8 bits), then for each distinct word, sorted
/// by term: the term (`u32`) and its frequency (`u16`), where words of the title count twice. Chunks that are
/// older than analyzers have the code 0, which stands for English.
pub(super) fn count(language: Language, title: &str, text: &str) -> Vec<u8> {
    let analyzer = Analyzer::for_passage(language, title, text);
    let mut counts = BTreeMap::<Term, u16>::new();
    let mut length = 0_u32;
    for (text, weight) in [(title, TITLE_WEIGHT), (text, 1)] {
        for word in analyzer.words(text) {
            let count = counts.entry(word.term).or_default();
            *count = count.saturating_add(weight);
            // The length counts characters of a run, not pairs.
            length = length.saturating_add(u32::from(!word.is_pair));
        }
    }
    let mut bytes = Vec::with_capacity(HEADER + ENTRY * counts.len());
    bytes.extend_from_slice(&packed(analyzer, length));
    for (term, count) in counts {
        bytes.extend_from_slice(&term.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
    }
    bytes
}

/// Decoded result of [`count`].
pub(super) struct Counted<I> {
    pub(super) analyzer: Analyzer,
    /// Number of words.
    pub(super) length: u32,
    /// Distinct words with their frequencies.
    pub(super) terms: I,
}

/// Decodes a result of [`count`]; `None` if the bytes are invalid.
pub(super) fn counted(bytes: &[u8]) -> Option<Counted<impl Iterator<Item = (Term, u16)> + '_>> {
    let (header, entries) = bytes.split_first_chunk::<HEADER>()?;
    let (entries, rest) = entries.as_chunks::<ENTRY>();
    let terms = entries
        .iter()
        .map(|&[a, b, c, d, e, f]| (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f])));
    let (analyzer, length) = unpacked(*header).filter(|_| rest.is_empty())?;
    Some(Counted { analyzer, length, terms })
}

/// Packs the number of words (24 bits) and the analyzer (8 bits), little-endian.
pub(super) fn packed(analyzer: Analyzer, length: u32) -> [u8; HEADER] {
    (length.min(MAX_LENGTH) | u32::from(analyzer.code()) << LENGTH_BITS).to_le_bytes()
}

/// Unpacks a result of [`packed`]; `None` for an unknown analyzer.
pub(super) fn unpacked(bytes: [u8; HEADER]) -> Option<(Analyzer, u32)> {
    let [.., code] = bytes;
    Some((Analyzer::from_code(code)?, u32::from_le_bytes(bytes) & MAX_LENGTH))
}

/// Byte ranges of some words in a text: ascending, not overlapping.
pub(super) fn find(text: &str, analyzer: Analyzer, wanted: &[Term]) -> Vec<Range<usize>> {
    let mut found = Vec::<Range<usize>>::new();
    for word in analyzer.words(text).filter(|word| wanted.contains(&word.term)) {
        match found.last_mut() {
            // Pairs of characters overlap.
            Some(last) if word.range.start < last.end => last.end = last.end.max(word.range.end),
            _ => found.push(word.range),
        }
    }
    found
}

/// Terms of a text's words, in order.
pub(super) fn sequence(text: &str, analyzer: Analyzer) -> Vec<Term> {
    analyzer.words(text).filter(|word| !word.is_pair).map(|word| word.term).collect()
}

const HEADER: usize = size_of::<u32>();
const ENTRY: usize = size_of::<Term>() + size_of::<u16>();
const LENGTH_BITS: u32 = 24;
const MAX_LENGTH: u32 = (1 << LENGTH_BITS) - 1;
