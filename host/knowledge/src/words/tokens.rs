//! Tokenisation into words; for Chinese, Japanese and Korean, which have no visible word borders, into
//! characters and pairs of neighbours.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Token of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Position in the text, in bytes.
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// Character of a run without word borders.
    Character,
    /// Two neighbours of such a run.
    Pair,
}

/// Splits a text at the word boundaries of Unicode, and at punctuation within words: `example.com` and
/// `snake_case` are two words each. Scripts without spaces give characters.
pub(super) fn words(text: &str) -> impl Iterator<Item = Token> + '_ {
    text.unicode_word_indices().flat_map(|(start, word)| {
        let mut at = start;
        word.split(is_separator).filter_map(move |part| {
            let range = at..at + part.len();
            // Every separator has one byte.
            at = range.end + 1;
            part.contains(char::is_alphanumeric).then_some(Token { range, kind: Kind::Word })
        })
    })
}

/// Splits a text like [`words`], except that runs of Chinese, Japanese and Korean give each character, and
/// after the second one each pair of neighbours.
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

/// Whether [`words_and_pairs`] would produce characters for this text.
pub(super) fn has_characters(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_unspaced)
}

/// Splits a word into its unspaced characters (each with its accents and vowels) and its other parts.
fn characters(text: &str, word: Token) -> Vec<Token> {
    let letters = &text[word.range.clone()];
    if !has_characters(letters) {
        return vec![word];
    }
    // Most words of such a text have one character.
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

/// Whether this letter belongs to Chinese or Japanese, which have no spaces, or Korean, whose words end in
/// particles. Decided by Unicode block.
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
