//! Decoding of escapes in text: of JSON and string literals, of URLs, and of HTML.
//!
//! ```text
//! \uXXXX  \xXX  \n \r \t \b \f \" \\ \/ \'     in either case; surrogate pairs are one character
//! %XX  %uXXXX                                  bytes of UTF-8 are one character, others Latin-1
//! &#DDD;  &#xXX;  &amp;                        and the other names of HTML that are short
//! ```

use std::ops::Range;
use std::sync::LazyLock;

use html_escape::decode_html_entities;

/// Maximum length of an escape of one character, in bytes: `&#1114111;`, `&thetasym;`.
pub(super) const MAX_ESCAPE_BYTES: usize = 10;

/// Decodes the escapes of a text, each once, and folds the case of its letters beyond ASCII.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decoder {
    /// Whether to fold case. ASCII letters keep their case either way.
    pub(super) folds_case: bool,
}

/// An escape, or a letter whose case is folded.
#[derive(Clone, Debug, Default)]
struct Escape {
    /// Range in the text.
    place: Range<usize>,
    /// Range in the decoded copy.
    copy: Range<usize>,
}

impl Decoder {
    /// Returns the decoded text; `None` if it is the same.
    pub(super) fn decoded(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut copy = Vec::new();
        let mut escape = Escape::default();
        let mut character = String::new();
        while let Some(next) = self.next(text, &escape, &mut character) {
            copy.extend_from_slice(&text[escape.place.end..next.place.start]);
            copy.extend_from_slice(character.as_bytes());
            escape = next;
        }
        if copy.is_empty() {
            return None;
        }
        copy.extend_from_slice(&text[escape.place.end..]);
        Some(copy)
    }

    /// Returns the ranges of a text that were decoded to these ranges of its copy, which are in order and do
    /// not overlap. Escapes are included whole.
    pub(super) fn places(self, text: &[u8], decoded: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let mut last = Escape::default();
        let mut character = String::new();
        let mut next = self.next(text, &last, &mut character);
        // Decodes the text again up to the position, so that no map of all escapes has to be stored.
        let mut place_of = |position: usize| {
            while let Some(passed) = next.take_if(|next| next.copy.end <= position) {
                next = self.next(text, &passed, &mut character);
                last = passed;
            }
            match &next {
                Some(next) if next.copy.start < position => next.place.clone(),
                _ => {
                    let place = last.place.end + (position - last.copy.end);
                    place..place
                }
            }
        };
        decoded.into_iter().map(|range| place_of(range.start).start..place_of(range.end).end).collect()
    }

    /// Returns the first escape after `last`, and writes what it stands for to `character`.
    fn next(self, text: &[u8], last: &Escape, character: &mut String) -> Option<Escape> {
        // The latter begins a character of several bytes.
        let may_start = |byte: &u8| matches!(byte, b'\\' | b'%' | b'&') || (self.folds_case && *byte >= 0xc2);
        let mut start = last.place.end;
        loop {
            start += text[start..].iter().position(may_start)?;
            character.clear();
            if let Some(length) = self.decode(&text[start..], character) {
                let copy = last.copy.end + (start - last.place.end);
                return Some(Escape { place: start..start + length, copy: copy..copy + character.len() });
            }
            start += 1;
        }
    }

    /// Decodes the escape at the beginning of a text that is not empty; returns its length in bytes.
    fn decode(self, text: &[u8], character: &mut String) -> Option<usize> {
        let (decoded, length) = match text[0] {
            b'\\' => utf16(text).or_else(|| bytes(text, "\\x")).or_else(|| control(text)),
            b'%' => utf16(text).or_else(|| bytes(text, "%")),
            b'&' => reference(text),
            _ => {
                let letter = first_character(text)?;
                is_folded(letter).then(|| (letter, letter.len_utf8()))
            }
        }?;
        if self.folds_case {
            character.extend(fold(decoded));
        } else {
            character.push(decoded);
        }
        Some(length)
    }
}

/// Folds case so that a letter equals its capital, also where that is several letters: `ß` and `SS`.
pub(super) fn fold(letter: char) -> impl Iterator<Item = char> {
    let ascii = letter.is_ascii().then_some(letter);
    let other = (!letter.is_ascii()).then(|| letter.to_lowercase()).into_iter().flatten();
    ascii.into_iter().chain(other.flat_map(char::to_uppercase).flat_map(char::to_lowercase))
}

/// Whether folding changes a letter, from a table for those of the Basic Multilingual Plane: folding each letter of a
/// text takes thirty times as long as searching it.
fn is_folded(letter: char) -> bool {
    static IS_FOLDED: LazyLock<Vec<bool>> = LazyLock::new(|| {
        let letters = (0..=u32::from(u16::MAX)).map(char::from_u32);
        letters.map(|letter| letter.is_some_and(|letter| !fold(letter).eq([letter]))).collect()
    });

    let known = usize::try_from(u32::from(letter)).ok().and_then(|index| IS_FOLDED.get(index));
    known.copied().unwrap_or_else(|| !fold(letter).eq([letter]))
}

fn first_character(text: &[u8]) -> Option<char> {
    let length = match text.first()? {
        0..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    str::from_utf8(text.get(..length)?).ok()?.chars().next()
}

/// Decodes `\uXXXX` or `%uXXXX`, or two of them that are a surrogate pair.
fn utf16(text: &[u8]) -> Option<(char, usize)> {
    const LENGTH: usize = 6;

    let unit = |unit: &[u8]| {
        let is_unit = unit[0] == text[0] && unit[1].eq_ignore_ascii_case(&b'u');
        is_unit.then(|| number(&unit[2..], 16)).flatten().and_then(|unit| u16::try_from(unit).ok())
    };
    let units = text.chunks_exact(LENGTH).take(2).map_while(unit);
    let character = char::decode_utf16(units).next()?.ok()?;
    Some((character, LENGTH * character.len_utf16()))
}

/// Decodes bytes of the form `%XX` or `\xXX`: those of one character in UTF-8, otherwise one in Latin-1.
fn bytes(text: &[u8], mark: &str) -> Option<(char, usize)> {
    let length = mark.len() + 2;
    let byte = |byte: &[u8]| {
        let (begin, digits) = byte.split_at(mark.len());
        let is_byte = begin.eq_ignore_ascii_case(mark.as_bytes());
        is_byte.then(|| number(digits, 16)).flatten().and_then(|byte| u8::try_from(byte).ok())
    };
    let mut bytes = [0; char::MAX.len_utf8()];
    let mut count = 0;
    for (byte, found) in bytes.iter_mut().zip(text.chunks_exact(length).map_while(byte)) {
        *byte = found;
        count += 1;
    }
    let character = first_character(&bytes[..count]);
    match character {
        Some(character) => Some((character, length * character.len_utf8())),
        None => (count > 0).then(|| (char::from(bytes[0]), length)),
    }
}

/// Decodes a backslash before one character.
fn control(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.get(1)?.to_ascii_lowercase() {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        character @ (b'"' | b'\\' | b'/' | b'\'') => char::from(character),
        _ => return None,
    };
    Some((character, 2))
}

/// Decodes a character reference of HTML.
fn reference(text: &[u8]) -> Option<(char, usize)> {
    let end = text.iter().take(MAX_ESCAPE_BYTES).position(|byte| *byte == b';')?;
    let character = match &text[1..end] {
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        name if name.iter().all(u8::is_ascii_alphanumeric) => {
            let name = str::from_utf8(&text[..=end]).ok()?;
            let decoded = decode_html_entities(name);
            let mut characters = decoded.chars();
            characters.next().filter(|_| characters.next().is_none())?
        }
        _ => return None,
    };
    Some((character, end + 1))
}

/// Parses digits, at least one and at most [`MAX_ESCAPE_BYTES`].
fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let add =
        |number: u32, digit: &u8| number.checked_mul(radix)?.checked_add(char::from(*digit).to_digit(radix)?);
    digits.iter().try_fold(0, add).filter(|_| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDING: Decoder = Decoder { folds_case: true };

    fn decoded(text: &str) -> String {
        let copy = FOLDING.decoded(text.as_bytes()).unwrap_or_else(|| text.as_bytes().to_vec());
        String::from_utf8(copy).expect("decoded text is text")
    }

    #[test]
    fn escapes_are_decoded_once_and_capitals_folded() {
        for (text, expected) in [
            (r"\u002B\u002b\U002b\x2B\X2b", "+++++"),
            (r#"\"\\\/\'\n\T"#, "\"\\/'\n\t"),
            (r"\ud83d\udd11-\uD83D\uDD11-%uD83D%uDD11", "🔑-🔑-🔑"),
            ("%2B%C3%BC%e2%82%ac%f0%9f%94%91", "+ü€🔑"),
            (r"\xc3\xbc\xe2\x82\xac", "ü€"),
            (r"%FC\xfc%C3-%C3%2B", "üüã-ã+"),
            ("&#43;&#x2B;&#X2b;&#128273;&amp;&quot;&apos;&lt;&gt;&uuml;&thetasym;", "+++🔑&\"'<>üθ"),
            ("%252B \\\\u002B &amp;#43;", "%2B \\u002B &#43;"),
            ("MÜLLER straße STRASSE ΣΑΣ", "MüLLER strasse STRASSE σασ"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_escape_stays_as_it_is() {
        for text in [
            "",
            "plain",
            "100% & more \\",
            "%",
            "%4",
            "%4g",
            "%u12",
            "\\u",
            "\\u00",
            "\\u00g0",
            "\\x4",
            "\\q",
            r"\ud83d",
            r"\udd11",
            "&",
            "&;",
            "&#;",
            "&#x;",
            "&#xd800;",
            "&#1114112;",
            "&#99999999999;",
            "&nothing;",
            "&amp",
            "&amp ;",
            "&CounterClockwiseContourIntegral;",
            "日本語",
            "aé",
        ] {
            assert_eq!(FOLDING.decoded(text.as_bytes()), None, "{text}");
        }
        assert_eq!(FOLDING.decoded(b"\xff%\xfe&\xc3"), None);
        assert_eq!(FOLDING.decoded(b"\xff%41\xc3").as_deref(), Some(&b"\xffA\xc3"[..]));
        assert_eq!(Decoder::default().decoded("MÜLLER".as_bytes()), None);
    }

    #[test]
    fn a_place_in_the_copy_is_that_of_whole_escapes_in_the_text() {
        let text = r"ab%41\u00FCcd&amp;";
        assert_eq!(decoded(text), "abAücd&");

        for (copy, expected) in [
            (0..2, "ab"),
            (1..3, "b%41"),
            (2..3, "%41"),
            (3..4, r"\u00FC"),
            (4..6, r"\u00FCc"),
            (5..8, "cd&amp;"),
            (7..8, "&amp;"),
        ] {
            let place = FOLDING.places(text.as_bytes(), vec![copy.clone()]);
            assert_eq!(place.iter().map(|it| &text[it.clone()]).collect::<Vec<_>>(), [expected], "{copy:?}");
        }
        let both = FOLDING.places(text.as_bytes(), vec![0..1, 4..5, 7..8]);
        assert_eq!(both, [0..1, 5..11, 13..18]);
    }
}
