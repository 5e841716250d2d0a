//! Texts, split into words; and Chinese, Japanese and Korean, where words have no borders that can be seen,
//! into characters and pairs of neighbours.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// A part of a text that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// In bytes.
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// A character of a run.
    Character,
    /// Two neighbours of a run.
    Pair,
}

/// Splits a text at what Unicode calls word boundaries, and within those words at punctuation:
/// `example.com` and `snake_case` are two words each. Scripts without spaces give characters.
pub(super) fn words(text: &str) -> impl Iterator<Item = Token> + '_ {
    text.unicode_word_indices().flat_map(|(start, word)| {
        let mut at = start;
        word.split(is_separator).filter_map(move |part| {
            let range = at..at + part.len();
            // Every separator is one byte long.
            at = range.end + 1;
            part.contains(char::is_alphanumeric).then_some(Token { range, kind: Kind::Word })
        })
    })
}

/// Splits a text as [`words`] does; but runs of Chinese, Japanese and Korean give each character, and each
/// pair of neighbours after the second of them.
pub(super) fn words_and_pairs(text: &str) -> impl Iterator<Item = Token> + '_ {
    let mut before = 0..0;
    words(text).flat_map(|word| characters(text, word)).flat_map(move |token| {
        let mut pair = None;
        if token.kind == Kind::Character {
            if !before.is_empty() && before.end == token.range.start {
                pair = Some(Token { range: before.start..token.range.end, kind: Kind::Pair });
            }
            before = token.range.clone();
        }
        [Some(token), pair].into_iter().flatten()
    })
}

/// Whether there is something for [`words_and_pairs`] to pair.
pub(super) fn has_characters(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_unspaced)
}

/// The word, or what its characters (with what belongs to each: accents, vowels) and the rest of it are.
fn characters(text: &str, word: Token) -> Vec<Token> {
    let letters = &text[word.range.clone()];
    if !has_characters(letters) {
        return vec![word];
    }
    // Most words of such a text are one.
    if letters.chars().nth(1).is_none() {
        return vec![Token { kind: Kind::Character, ..word }];
    }
    let mut tokens = Vec::<Token>::new();
    for (at, character) in letters.grapheme_indices(true) {
        let start = word.range.start + at;
        let range = start..start + character.len();
        let kind = if character.starts_with(is_unspaced) { Kind::Character } else { Kind::Word };
        match tokens.last_mut() {
            Some(last) if kind == Kind::Word && last.kind == Kind::Word => last.range.end = range.end,
            _ => tokens.push(Token { range, kind }),
        }
    }
    tokens.retain(|token| text[token.range.clone()].contains(char::is_alphanumeric));
    tokens
}

fn is_separator(letter: char) -> bool {
    letter.is_ascii_punctuation() && letter != '\''
}

/// Letters of Chinese and Japanese, which has no spaces, and of Korean, whose words end in particles. By the
/// blocks of Unicode.
fn is_unspaced(letter: char) -> bool {
    let is_in_block = matches!(
        letter,
        '\u{1100}'..='\u{11ff}'       // Hangul, decomposed
        | '\u{3005}'..='\u{3007}'     // Repetition, closing mark, zero
        | '\u{3040}'..='\u{30ff}'     // Hiragana, Katakana
        | '\u{3100}'..='\u{312f}'     // Bopomofo
        | '\u{3130}'..='\u{318f}'     // Hangul, compatible
        | '\u{31a0}'..='\u{31bf}'     // Bopomofo
        | '\u{31f0}'..='\u{31ff}'     // Katakana
        | '\u{3400}'..='\u{4dbf}'     // Han
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'     // Hangul, decomposed
        | '\u{ac00}'..='\u{d7ff}'     // Hangul
        | '\u{f900}'..='\u{faff}'     // Han, compatible
        | '\u{ff66}'..='\u{ff9f}'     // Katakana, narrow
        | '\u{ffa0}'..='\u{ffdc}'     // Hangul, narrow
        | '\u{20000}'..='\u{3ffff}'   // Han
    );
    is_in_block && letter.is_alphabetic()
}
