//! Characters that are not seen, or that a terminal would interpret.

/// Whether a text has one. Joiners and variation selectors, which emoji and some scripts need, are none.
pub(crate) fn has_hidden(text: &str) -> bool {
    text.chars().any(|letter| {
        letter.is_control()
            || (is_invisible(letter) && !matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'))
    })
}

/// Whether a character has no shape: it may hide in a word, or turn the direction of a text.
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
