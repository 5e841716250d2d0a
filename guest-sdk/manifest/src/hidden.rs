//! Detection of invisible characters, and of control characters that a terminal would interpret.

/// Whether a text has control or invisible characters. Joiners and variation selectors are allowed: emoji and
/// some scripts need them.
pub(crate) fn has_hidden(text: &str) -> bool {
    text.chars().any(|letter| {
        letter.is_control()
            || (is_invisible(letter) && !matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'))
    })
}

/// Whether a character is invisible: it may hide inside a word, or change the direction of a text.
pub(crate) fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
