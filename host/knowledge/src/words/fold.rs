//! Normalisation of words: case, accents, variants of the same letter.

use unicode_normalization::UnicodeNormalization;

/// Removes accents from a word.
pub(super) fn fold(word: &str, folded: &mut String) {
    folded.clear();
    if word.is_ascii() {
        folded.push_str(word);
        folded.make_ascii_lowercase();
        return;
    }
    let letters = word.nfkd().filter(|letter| !is_accent(*letter)).map(straight);
    folded.extend(letters.flat_map(char::to_lowercase));
}

/// Lower-cases a word and composes its accents, as stemmers expect it.
pub(super) fn lowercase(word: &str, lowercase: &mut String) {
    lowercase.clear();
    if word.is_ascii() {
        lowercase.push_str(word);
        lowercase.make_ascii_lowercase();
        return;
    }
    lowercase.extend(
        word.nfkc().filter(|letter| !is_vowel_mark(*letter)).map(straight).flat_map(char::to_lowercase),
    );
}

/// Whether this is a combining accent of Latin, Greek or Cyrillic, or a vowel mark of Hebrew or Arabic. Marks
/// of other scripts are letters.
fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}') || is_vowel_mark(letter)
}

/// Whether this is a vowel point, which most writers omit. Excludes the marks into which Unicode decomposes
/// Arabic letters.
fn is_vowel_mark(letter: char) -> bool {
    matches!(
        letter,
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'  // Hebrew
        | '\u{640}' | '\u{64b}'..='\u{652}' | '\u{670}'                                              // Arabic
    )
}

fn straight(letter: char) -> char {
    if letter == '\u{2019}' { '\'' } else { letter }
}
