//! Johab (KS X 1001:1992, annex 3): a Hangul syllable is encoded as the numbers of its letters, five bits
//! each; other characters are those of the rows of KS X 1001.

use encoding_rs::EUC_KR;

/// Fewest characters for a detection.
const MIN_CHARS: usize = 6;
/// Tenths of the characters that have to be syllables in use.
const SYLLABLES_OF_TEN: usize = 8;

/// First Hangul syllable of Unicode, and the numbers of vowels and finals of a syllable (Unicode 16, section
/// 3.12).
const FIRST_SYLLABLE: u32 = 0xAC00;
const VOWELS: u32 = 21;
const FINALS: u32 = 28;
/// Fill codes, which stand for no letter.
const FILL_INITIAL: u32 = 1;
const FILL_VOWEL: u32 = 2;
const FILL_FINAL: u32 = 1;
/// Compatibility letters in the order of their numbers; vowels are consecutive in Unicode.
const INITIAL_LETTERS: &str = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ";
const FINAL_LETTERS: &str = "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ";
const FIRST_VOWEL: u32 = 0x314F;

/// Whether a text is Korean in this encoding: nearly all characters beyond ASCII are syllables in use. Texts
/// in other encodings have hardly any.
pub(super) fn is_korean(bytes: &[u8]) -> bool {
    let mut characters = 0;
    let mut syllables = 0;
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if first.is_ascii() {
            continue;
        }
        let Some((second, after)) = rest.split_first() else { break };
        characters += 1;
        rest = after;
        syllables += usize::from(syllable(*first, *second).is_some_and(is_in_use));
    }
    characters >= MIN_CHARS && syllables * 10 >= characters * SYLLABLES_OF_TEN
}

/// Decodes a text; invalid sequences become U+FFFD.
pub(super) fn decode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if first.is_ascii() {
            text.push(char::from(*first));
            continue;
        }
        let Some((second, after)) = rest.split_first() else { break };
        rest = after;
        let character = syllable(*first, *second).or_else(|| letter(*first, *second));
        let character = character.or_else(|| other(*first, *second));
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    text
}

/// Decodes a syllable.
fn syllable(first: u8, second: u8) -> Option<char> {
    let (initial, vowel, last) = parts(first, second);
    let last = if last == FILL_FINAL { 0 } else { final_number(last)? + 1 };
    char::from_u32(
        FIRST_SYLLABLE + (initial_number(initial)? * VOWELS + vowel_number(vowel)?) * FINALS + last,
    )
}

/// Decodes a single letter, whose other two parts are fill codes.
fn letter(first: u8, second: u8) -> Option<char> {
    let nth = |letters: &str, number: u32| letters.chars().nth(usize::try_from(number).ok()?);
    match parts(first, second) {
        (FILL_INITIAL, FILL_VOWEL, FILL_FINAL) => Some('\u{3000}'),
        (initial, FILL_VOWEL, FILL_FINAL) => nth(INITIAL_LETTERS, initial_number(initial)?),
        (FILL_INITIAL, vowel, FILL_FINAL) => char::from_u32(FIRST_VOWEL + vowel_number(vowel)?),
        (FILL_INITIAL, FILL_VOWEL, last) => nth(FINAL_LETTERS, final_number(last)?),
        _ => None,
    }
}

/// Splits two bytes into the numbers of initial, vowel and final (5 bits each, after a set bit).
fn parts(first: u8, second: u8) -> (u32, u32, u32) {
    let code = u32::from(u16::from_be_bytes([first, second]));
    (code >> 10 & 0x1F, code >> 5 & 0x1F, code & 0x1F)
}

fn initial_number(initial: u32) -> Option<u32> {
    initial.checked_sub(2).filter(|number| *number < 19)
}

/// Index of a vowel: the first two of every eight codes are unused.
fn vowel_number(vowel: u32) -> Option<u32> {
    match vowel {
        3..=7 => Some(vowel - 3),
        10..=15 => Some(vowel - 5),
        18..=23 => Some(vowel - 7),
        26..=29 => Some(vowel - 9),
        _ => None,
    }
}

fn final_number(last: u32) -> Option<u32> {
    match last {
        2..=17 => Some(last - 2),
        19..=29 => Some(last - 3),
        _ => None,
    }
}

/// Decodes a symbol or a Chinese character: each first byte covers two rows of KS X 1001.
fn other(first: u8, second: u8) -> Option<char> {
    let row = match first {
        0xD9..=0xDE => 2 * (first - 0xD9) + 0xA1,
        0xE0..=0xF9 => 2 * (first - 0xE0) + 0xCA,
        _ => return None,
    };
    let (row, column) = match second {
        0x31..=0x7E => (row, second - 0x31 + 0xA1),
        0x91..=0xA0 => (row, second - 0x43 + 0xA1),
        0xA1..=0xFE => (row + 1, second),
        _ => return None,
    };
    let code = [row, column];
    let text = EUC_KR.decode_without_bom_handling(&code).0;
    text.chars().next().filter(|it| *it != char::REPLACEMENT_CHARACTER)
}

/// Whether this is one of the 2,350 syllables of KS X 1001.
fn is_in_use(syllable: char) -> bool {
    let mut buffer = [0; 4];
    let (bytes, _, is_unknown) = EUC_KR.encode(syllable.encode_utf8(&mut buffer));
    !is_unknown && matches!(*bytes, [0xB0..=0xC8, 0xA1..=0xFE])
}
