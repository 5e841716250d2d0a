//! Properties of redaction: every mixture of escapes is found, and nothing else is touched.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::prelude::*;

use super::tests::redactor;
use super::{MAX_PASSES, REPLACEMENT};

/// A way to write one character.
#[derive(Clone, Copy, Debug)]
enum Escape {
    Literal,
    Utf16 { mark: &'static str, capital: bool },
    Bytes { mark: &'static str, capital: bool },
    Reference { hexadecimal: bool },
    Short,
}

impl Escape {
    fn write(self, character: char, text: &mut String) {
        let done = match self {
            Self::Short => match character {
                '"' | '\\' | '/' | '\'' => write!(text, "\\{character}"),
                '\n' => write!(text, "\\n"),
                '\t' => write!(text, "\\t"),
                '&' => write!(text, "&amp;"),
                '<' => write!(text, "&lt;"),
                'é' => write!(text, "&eacute;"),
                _ => return Self::Reference { hexadecimal: false }.write(character, text),
            },
            // Every encoder escapes the characters with which its escapes begin.
            Self::Literal if matches!(character, '\\' | '%' | '&') => {
                return Self::Short.write(character, text);
            }
            Self::Literal => write!(text, "{character}"),
            Self::Utf16 { mark, capital } => {
                let units = character.encode_utf16(&mut [0; 2]).to_vec();
                units.iter().try_for_each(|unit| {
                    if capital { write!(text, "{mark}{unit:04X}") } else { write!(text, "{mark}{unit:04x}") }
                })
            }
            Self::Bytes { mark, capital } => {
                character.encode_utf8(&mut [0; 4]).bytes().try_for_each(|byte| {
                    if capital { write!(text, "{mark}{byte:02X}") } else { write!(text, "{mark}{byte:02x}") }
                })
            }
            Self::Reference { hexadecimal: true } => write!(text, "&#x{:X};", u32::from(character)),
            Self::Reference { hexadecimal: false } => write!(text, "&#{};", u32::from(character)),
        };
        done.expect("writing to a string never fails");
    }
}

fn escape() -> impl Strategy<Value = Escape> {
    prop_oneof![
        3 => Just(Escape::Literal),
        2 => (prop_oneof![Just("\\u"), Just("%u")], any::<bool>())
            .prop_map(|(mark, capital)| Escape::Utf16 { mark, capital }),
        2 => (prop_oneof![Just("\\x"), Just("%")], any::<bool>())
            .prop_map(|(mark, capital)| Escape::Bytes { mark, capital }),
        1 => any::<bool>().prop_map(|hexadecimal| Escape::Reference { hexadecimal }),
        1 => Just(Escape::Short),
    ]
}

/// A text with letters in either case, and characters that encoders escape; some texts contain escapes.
fn value() -> impl Strategy<Value = String> {
    prop_oneof!["[ -{}~\n\täÄßéÉжЖσΣς€🔑]{6,24}", "([a-z+/]|%41|\\\\u00e9|&amp;|\\\\\\\\|\\\\n|%){6,12}",]
}

/// Returns the text with each character escaped in turn as `escapes` say.
fn escaped(text: &str, escapes: &[Escape]) -> String {
    let mut out = String::new();
    for (character, escape) in text.chars().zip(escapes.iter().cycle()) {
        escape.write(character, &mut out);
    }
    out
}

proptest! {
    #[test]
    fn a_value_is_found_in_any_mixture_of_escapes_and_nothing_else_is_touched(
        value in value(),
        capitals in vec(any::<Option<bool>>(), 24),
        passes in vec(vec(escape(), 1..24), 0..=MAX_PASSES),
        (before, after) in ("[あ-ん|]{0,6}", "[あ-ん|]{0,6}"),
    ) {
        let in_case = |(character, upper): (char, &Option<bool>)| match upper {
            Some(true) => character.to_uppercase().to_string(),
            Some(false) => character.to_lowercase().to_string(),
            None => character.to_string(),
        };
        // Decoding a literal escape in another case would not be the value's.
        let has_escapes = value.contains(['%', '\\', '&']);
        let written: String = value.chars().zip(capitals.iter().cycle()).map(in_case).collect();
        let written = if has_escapes { value.clone() } else { written };
        let written = passes.iter().fold(written, |text, escapes| escaped(&text, escapes));

        let clean = redactor(&[&value]).redact(&format!("{before}{written}{after}")).into_owned();

        prop_assert_eq!(clean, format!("{before}{REPLACEMENT}{after}"), "{} as {}", value, written);
    }

    #[test]
    fn a_text_without_the_value_stays_as_it_is(
        // No escape of these digits is the letter `s`.
        escapes in "([ab ;#&%]|\\\\|\\\\u00[0246][0-2a-f]|\\\\x[0246][0-2]|%[0246][0-2]|&#1[0-4][0-2];|&#x6[0-2];|&amp;)*",
        other in "[^sS5378ſ]{0,60}",
    ) {
        for text in [&escapes, &other] {
            prop_assert_eq!(&*redactor(&["s3cr3t+välue"]).redact(text), text);
        }
    }

    #[test]
    fn bytes_of_any_kind_are_searched(
        mut bytes in vec(prop_oneof![any::<u8>(), prop::sample::select(&b"\\ux%&#;0aF"[..])], 0..200),
        at in any::<prop::sample::Index>(),
    ) {
        // Not behind a part of an escape that it would complete.
        bytes.splice(at.index(bytes.len() + 1)..at.index(bytes.len() + 1), *b"|s3cr3t\\u002Bv%C3%A4lue|");

        redactor(&["s3cr3t+välue"]).redact_bytes(&mut bytes);

        let left = String::from_utf8_lossy(&bytes).into_owned();
        prop_assert!(left.contains("|[redacted]|"), "{}", left);
    }
}
