//! Makes untrusted text safe for a terminal or a file name: escapes or replaces control characters and
//! invisible characters.
//!
//! Escaped are control characters (C0, C1, DEL: escape sequences begin with one), bidirectional controls,
//! line and paragraph separators, invisible characters and noncharacters. Joiners and variation selectors
//! are kept where text needs them: inside an emoji, and between letters of scripts that join.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes text to a single line: line ends are escaped too.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false, |letter, out| out.extend(letter.escape_default()))
}

/// Escapes text of several lines: line ends and tabs are not escaped.
pub fn lines(text: &str) -> Cow<'_, str> {
    let keep = |letter| matches!(letter, '\n' | '\t');
    escaped(text, keep, |letter, out| out.extend(letter.escape_default()))
}

/// Escapes JSON text without changing its meaning: characters in its strings become JSON escapes (RFC 8259,
/// section 7). Line ends, which can only occur between tokens, are kept; other white space there becomes
/// spaces.
pub fn json(text: &str) -> Cow<'_, str> {
    let escape = |letter: char, out: &mut String| match letter {
        '\t' | '\r' => out.push(' '),
        _ => {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("writing to a string never fails");
            }
        }
    };
    escaped(text, |letter| letter == '\n', escape)
}

/// Replaces the characters that [`line()`] escapes, for file names.
pub fn replaced(text: &str, replacement: char) -> Cow<'_, str> {
    escaped(text, |_| false, |_, out| out.push(replacement))
}

/// Whether a text contains control characters or invisible characters.
pub fn has_hidden(text: &str) -> bool {
    line(text) != text
}

fn escaped(text: &str, keep: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if keep(letter) || !is_hidden(letter) || is_needed(before, letter, rest.clone().next()) {
            out.push(letter);
        } else {
            escape(letter, &mut out);
        }
        before = Some(letter);
    }
    Cow::Owned(out)
}

/// Whether the character is a control character or invisible.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            // Bidirectional controls (UAX #9, section 2).
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators.
            | '\u{2028}' | '\u{2029}'
            // Default_Ignorable_Code_Point: soft hyphen, joiners, fillers, variation selectors, tags, …
            | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            // Interlinear annotations, noncharacters.
            | '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}'
        )
        || u32::from(letter) & 0xfffe == 0xfffe
}

/// Whether the hidden character has a meaning between its neighbours.
fn is_needed(before: Option<char>, letter: char, after: Option<char>) -> bool {
    let is = |neighbour: Option<char>, test: fn(char) -> bool| neighbour.is_some_and(test);
    match letter {
        // Text or emoji presentation; keycaps are a digit, a selector and U+20E3.
        '\u{fe0e}' | '\u{fe0f}' => is(before, is_pictograph) || after == Some('\u{20e3}'),
        '\u{200d}' if is(after, is_pictograph) => {
            is(before, |before| is_pictograph(before) || before == '\u{fe0f}')
        }
        '\u{200c}' | '\u{200d}' => is(before, joins) && is(after, joins),
        _ => false,
    }
}

/// Whether the character can be part of an emoji; includes skin tones.
fn is_pictograph(letter: char) -> bool {
    matches!(
        letter,
        '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{2bff}' | '\u{3030}'
            | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// Whether the letter belongs to Arabic, Syriac, or a script of India or Sri Lanka, where joiners matter.
fn joins(letter: char) -> bool {
    matches!(letter, '\u{620}'..='\u{dff}') && !is_hidden(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_or_nobody_sees_is_shown() {
        for (text, shown) in [
            ("a\u{1b}[2Jb", r"a\u{1b}[2Jb"),
            ("\u{9b}2J\u{7f}\u{7}\u{0}", r"\u{9b}2J\u{7f}\u{7}\u{0}"),
            ("a\r\nb\tc", r"a\r\nb\tc"),
            ("\u{202e}evil\u{2066}\u{200f}\u{61c}", r"\u{202e}evil\u{2066}\u{200f}\u{61c}"),
            ("a\u{2028}b\u{2029}c\u{85}", r"a\u{2028}b\u{2029}c\u{85}"),
            ("pay\u{200b}pal\u{2060}\u{ad}\u{feff}", r"pay\u{200b}pal\u{2060}\u{ad}\u{feff}"),
            ("\u{e0041}\u{fff9}\u{3164}\u{10ffff}", r"\u{e0041}\u{fff9}\u{3164}\u{10ffff}"),
            ("a\u{200d}b\u{fe0f}c\u{fe01}", r"a\u{200d}b\u{fe0f}c\u{fe01}"),
        ] {
            assert_eq!(line(text), shown);
            assert!(has_hidden(text), "{shown}");
        }
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in [
            "plain text \\ with a backslash",
            "Größe — “quoted”, 北京, Привет, שלום",
            "👨‍👩‍👧 🏳️‍🌈 ❤️ 1️⃣ 👍🏽 🇪🇺",
            "می‌خواهم क्‍ष",
        ] {
            assert_eq!(line(text), text);
            assert!(!has_hidden(text), "{text}");
        }
    }

    #[test]
    fn several_lines_keep_their_ends_and_tabs_and_nothing_else() {
        assert_eq!(lines("a\n\tb\r\n\u{1b}c"), "a\n\tb\\r\n\\u{1b}c");
    }

    #[test]
    fn json_means_the_same_and_is_safe_to_print() {
        let value = serde_json::json!({ "a\u{202e}": "\u{1b}[2J\u{9b}\u{e0041}\u{7f}\n", "b": [1, "é 👨‍👩‍👧"] });
        let text = serde_json::to_string_pretty(&value).expect("it is JSON");

        let safe = json(&text);

        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("it still is"), value);
        assert!(
            safe.chars().all(|letter| letter == '\n' || !is_hidden(letter) || letter == '\u{200d}'),
            "{safe}"
        );
        assert!(safe.contains(r"\u202e") && safe.contains(r"\udb40\udc41"), "{safe}");
        assert_eq!(json("{\"a\":\t1}\r"), "{\"a\": 1} ");
    }
}
