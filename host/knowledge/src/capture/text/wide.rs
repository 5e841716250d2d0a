//! UTF-16 and UTF-32 without a byte order mark, and UTF-32 with one, which the Encoding Standard does not know.

use encoding_rs::{UTF_16BE, UTF_16LE};

/// Bytes that are examined.
const SAMPLE_BYTES: usize = 4 << 10;
/// Fewest characters for a detection.
const MIN_CHARS: usize = 4;
/// One in this many characters has to be common to all texts: a space, a line end, ASCII, or East Asian
/// punctuation.
const CHARS_PER_COMMON: usize = 40;

/// Encoding with code units of two or four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capture) enum Wide {
    Utf16Le,
    Utf16Be,
    Utf32Le,
    Utf32Be,
}

impl Wide {
    const ALL: [Self; 4] = [Self::Utf16Le, Self::Utf16Be, Self::Utf32Le, Self::Utf32Be];

    /// Detects an encoding by the byte order mark of UTF-32, or because the whole sample is valid text in it.
    pub(in crate::capture) fn detect(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xFF, 0xFE, 0, 0, ..] => return Some(Self::Utf32Le),
            [0, 0, 0xFE, 0xFF, ..] => return Some(Self::Utf32Be),
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => return None,
            _ => {}
        }
        let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
        let scores = Self::ALL.into_iter().filter_map(|encoding| Some((encoding.score(sample)?, encoding)));
        scores.max_by_key(|(score, _)| *score).map(|(_, encoding)| encoding)
    }

    /// Name, in the style of the Encoding Standard.
    pub(in crate::capture) fn name(self) -> &'static str {
        match self {
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Utf32Le => "UTF-32LE",
            Self::Utf32Be => "UTF-32BE",
        }
    }

    /// Decodes a text; invalid sequences become U+FFFD.
    pub(in crate::capture) fn decode(self, bytes: &[u8]) -> String {
        let text = match self {
            Self::Utf16Le => UTF_16LE.decode_without_bom_handling(bytes).0.into_owned(),
            Self::Utf16Be => UTF_16BE.decode_without_bom_handling(bytes).0.into_owned(),
            Self::Utf32Le | Self::Utf32Be => self.utf32(bytes).collect(),
        };
        text.trim_start_matches('\u{FEFF}').to_owned()
    }

    /// Largest number of encoded bytes for a text of at most `limit` bytes in UTF-8.
    pub(in crate::capture) fn bytes_of(self, limit: usize) -> usize {
        match self {
            Self::Utf16Le | Self::Utf16Be => 2 * limit,
            Self::Utf32Le | Self::Utf32Be => 4 * limit,
        }
    }

    fn utf32(self, bytes: &[u8]) -> impl Iterator<Item = char> {
        bytes.chunks_exact(4).map(move |unit| {
            let unit = [unit[0], unit[1], unit[2], unit[3]];
            let code =
                if self == Self::Utf32Le { u32::from_le_bytes(unit) } else { u32::from_be_bytes(unit) };
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        })
    }

    /// Number of common characters; `None` if the sample is not valid text in this encoding.
    fn score(self, sample: &[u8]) -> Option<usize> {
        // Whole characters only: half of a surrogate pair may be at the end.
        let mut text = self.decode(&sample[..sample.len() / 4 * 4]);
        if sample.len() >= SAMPLE_BYTES && text.ends_with(char::REPLACEMENT_CHARACTER) {
            text.pop();
        }
        let text = text.trim_end_matches('\u{1A}');
        if text.contains(is_never_in_text) {
            return None;
        }
        let count = text.chars().count();
        let common = text.chars().filter(|it| is_common(*it)).count();
        (count >= MIN_CHARS && common * CHARS_PER_COMMON >= count).then_some(common)
    }
}

fn is_never_in_text(character: char) -> bool {
    let is_control = character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\x0B' | '\x0C');
    is_control || matches!(character, '\u{E000}'..='\u{F8FF}' | '\u{FFF0}'..='\u{FFFF}' | '\u{F0000}'..)
}

fn is_common(character: char) -> bool {
    matches!(character, ' '..='~' | '\t' | '\n' | '\r' | '\u{3000}'..='\u{3002}' | '\u{FF01}'..='\u{FF1F}')
}
