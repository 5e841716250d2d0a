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
    lowercase.extend(word.nfkc().map(straight).flat_map(char::to_lowercase));
}

/// The block of accents of Latin, Greek and Cyrillic. Marks of other scripts are letters.
fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}')
}

fn straight(letter: char) -> char {
    if letter == '\u{2019}' { '\'' } else { letter }
}
