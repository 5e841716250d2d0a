//! Legacy encodings that the detector of the Encoding Standard does not know: IBM855, Mac Cyrillic, Johab.

mod johab;

use encoding_rs::{Encoding, IBM866, ISO_8859_5, KOI8_R, KOI8_U, WINDOWS_1251, X_MAC_CYRILLIC};

/// Bytes that are examined.
const SAMPLE_BYTES: usize = 16 << 10;
/// Fewest characters beyond ASCII for a detection.
const MIN_CHARS: usize = 12;
/// Lowest score of a text in a language with Cyrillic letters. Russian has about 5,500.
const MIN_RUSSIAN: i64 = 4_000;
/// Score by which an encoding has to exceed the one that was guessed.
const MARGIN: i64 = 50;
/// Score penalty for a capital letter within a word.
const CAPITAL_WITHIN_WORD: i64 = 300;

/// The upper half of IBM855.
const IBM855: &str = "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐\
    └┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{AD}ыЫзЗшШэЭщЩчЧ§■\u{A0}";
/// Letter frequencies of Russian in thousandths, from а to я.
const FREQUENCIES: [i64; 32] = [
    80, 16, 45, 17, 30, 85, 9, 16, 74, 12, 35, 44, 32, 67, 109, 28, 47, 55, 63, 26, 3, 10, 5, 14, 7, 4, 0,
    19, 17, 3, 6, 20,
];

/// Legacy encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Legacy {
    Ibm855,
    MacCyrillic,
    Johab,
}

impl Legacy {
    /// Detects an encoding in which the text is more plausible than in the guessed one.
    pub(super) fn detect(bytes: &[u8], guess: &'static Encoding) -> Option<Self> {
        let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
        if sample.iter().filter(|byte| !byte.is_ascii()).count() < MIN_CHARS {
            return None;
        }
        if johab::is_korean(sample) {
            return Some(Self::Johab);
        }
        let guesses = [guess, WINDOWS_1251, KOI8_R, KOI8_U, ISO_8859_5, IBM866];
        let known = guesses
            .into_iter()
            .map(|encoding| russian(&encoding.decode_without_bom_handling(sample).0))
            .max()?;
        let candidates = [Self::Ibm855, Self::MacCyrillic].into_iter();
        let scores = candidates.map(|encoding| (russian(&encoding.decode(sample)), encoding));
        let (score, best) = scores.max_by_key(|(score, _)| *score)?;
        (score >= known + MARGIN && score >= MIN_RUSSIAN).then_some(best)
    }

    /// Name, in the style of the Encoding Standard.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ibm855 => "IBM855",
            Self::MacCyrillic => "x-mac-cyrillic",
            Self::Johab => "Johab",
        }
    }

    /// Decodes a text; invalid sequences become U+FFFD.
    pub(super) fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Ibm855 => {
                let upper: Vec<char> = IBM855.chars().collect();
                let decoded =
                    |byte: &u8| byte.checked_sub(0x80).map_or(char::from(*byte), |at| upper[usize::from(at)]);
                bytes.iter().map(decoded).collect()
            }
            Self::MacCyrillic => X_MAC_CYRILLIC.decode_without_bom_handling(bytes).0.into_owned(),
            Self::Johab => johab::decode(bytes),
        }
    }
}

/// Similarity of a text to Russian: mean frequency of its characters beyond ASCII, in thousandths of a
/// percent.
fn russian(text: &str) -> i64 {
    let mut sum = 0;
    let mut count = 0;
    let mut before = ' ';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_ascii() {
            count += 1;
            // A dash of one encoding is a capital letter of another: capitals only count within words.
            let is_alone = !before.is_alphabetic() && !characters.peek().is_some_and(|it| it.is_alphabetic());
            sum += if character.is_uppercase() && is_alone { 0 } else { frequency(character) };
            if before.is_lowercase() && character.is_uppercase() {
                sum -= CAPITAL_WITHIN_WORD;
            }
        }
        before = character;
    }
    sum * 100 / count.max(1)
}

fn frequency(letter: char) -> i64 {
    let small = letter.to_lowercase().next().unwrap_or(letter);
    let number = u32::from(small).checked_sub(u32::from('а')).and_then(|it| usize::try_from(it).ok());
    number.and_then(|number| FREQUENCIES.get(number)).copied().unwrap_or_default()
}
