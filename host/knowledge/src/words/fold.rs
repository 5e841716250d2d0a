//! Words without what writers vary: case, accents, forms of the same letter.

use unicode_normalization::UnicodeNormalization;

/// Writes a word without accents.
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

/// Writes a word with its accents, composed: as stemmers expect it.
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

/// The block of accents of Latin, Greek and Cyrillic, and the vowels of Hebrew and Arabic. Marks of other scripts are
/// letters.
fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}') || is_vowel_mark(letter)
}

/// Vowel points, which most writers leave out. Not the marks that Unicode decomposes letters of Arabic into.
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
