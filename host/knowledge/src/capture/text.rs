//! Text files: bytes of whatever encoding become UTF-8, and no more of it than is indexed.

mod headings;
mod legacy;
mod wide;

use bytes::Bytes;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Encoding, UTF_8};

use super::{Extracted, MAX_TEXT_BYTES};
pub use headings::Markup;
use legacy::Legacy;
pub(super) use wide::Wide;

/// What stands at the end of a text that was cut.
const CUT: &str = "\n\n[The file holds more text than this. The rest, beyond 4 MiB, is not indexed.]";
/// Room that the decoder wants beyond what it writes, in bytes.
const SLACK: usize = 1 << 10;
/// A title's characters at most.
const MAX_LINE_LENGTH: usize = 300;
/// Bytes of a page that are rewritten: each may become three.
const MAX_REWRITTEN_BYTES: usize = 16 << 20;
/// Bytes from which an encoding is guessed.
const MAX_SNIFFED_BYTES: usize = 256 << 10;
/// Where HTML names its encoding (HTML Standard, section 4.2.5.4).
const HTML_PRESCAN: usize = 1024;

/// Reads a text file, whose bytes may go on beyond what is used; returns the name of its encoding as well.
pub(super) fn read(bytes: &[u8]) -> (Extracted, &'static str) {
    if let Some(wide) = wide(bytes) {
        let used = &bytes[..bytes.len().min(wide.bytes_of(MAX_TEXT_BYTES))];
        return (cut(wide.decode(used), bytes.len() > MAX_TEXT_BYTES), wide.name());
    }
    let encoding = encoding(bytes, None);
    let legacy = if encoding == UTF_8 { None } else { Legacy::detect(bytes, encoding) };
    if let Some(legacy) = legacy {
        let used = &bytes[..bytes.len().min(MAX_TEXT_BYTES)];
        return (cut(legacy.decode(used), bytes.len() > MAX_TEXT_BYTES), legacy.name());
    }
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut text = String::with_capacity(MAX_TEXT_BYTES + SLACK);
    // Not the last piece: an incomplete character at its end is where the file was cut, or nothing lost.
    let (result, _read, _had_errors) = decoder.decode_to_string(bytes, &mut text, false);
    let truncated =
        bytes.len() > MAX_TEXT_BYTES || text.len() > MAX_TEXT_BYTES || result == CoderResult::OutputFull;
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    (Extracted { title: None, text: printable(text), truncated }, encoding.name())
}

/// Returns a text as far as it is indexed; `is_longer` says whether the file holds more than was decoded.
fn cut(text: String, is_longer: bool) -> Extracted {
    let mut text = printable(text);
    let truncated = is_longer || text.len() > MAX_TEXT_BYTES;
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    Extracted { title: None, text, truncated }
}

/// The encoding of a text of units of more than one byte. What has no zero among its bytes is read byte by byte, but
/// for a text of East Asia without a line end.
fn wide(bytes: &[u8]) -> Option<Wide> {
    let is_ascii_or_utf8 = is_utf8(bytes) && !bytes.contains(&0);
    if is_ascii_or_utf8 { None } else { Wide::detect(bytes) }
}

/// Removes control characters, which a terminal or a printer would obey: a backspace takes the character before it
/// away, as in the bold and underlined words of manuals.
fn printable(text: String) -> String {
    let is_obeyed = |it: char| it.is_control() && !matches!(it, '\t' | '\n' | '\r' | '\x0C');
    if !text.contains(is_obeyed) {
        return text;
    }
    let mut printed = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\x08' if !printed.ends_with('\n') => drop(printed.pop()),
            '\x0B' | '\u{85}' => printed.push('\n'),
            _ if is_obeyed(character) => {}
            _ => printed.push(character),
        }
    }
    printed
}

/// A page in UTF-8.
pub(super) struct Page {
    pub(super) html: Bytes,
    /// Whether it was cut: one that came in UTF-8 never is, since nothing is copied.
    pub(super) was_cut: bool,
    /// The name of the encoding that it came in.
    pub(super) encoding: &'static str,
}

/// Rewrites a page in UTF-8.
pub(super) fn html_as_utf8(bytes: Bytes) -> Page {
    let was_cut = bytes.len() > MAX_REWRITTEN_BYTES;
    if let Some(wide) = wide(&bytes) {
        let text = wide.decode(&bytes[..bytes.len().min(MAX_REWRITTEN_BYTES)]);
        return Page { html: text.into(), was_cut, encoding: wide.name() };
    }
    let encoding = encoding(&bytes, declared_in_html(&bytes));
    if encoding == UTF_8 && std::str::from_utf8(&bytes).is_ok() && Encoding::for_bom(&bytes).is_none() {
        return Page { html: bytes, was_cut: false, encoding: encoding.name() };
    }
    let (text, ..) = encoding.decode(&bytes[..bytes.len().min(MAX_REWRITTEN_BYTES)]);
    Page { html: text.into_owned().into(), was_cut, encoding: encoding.name() }
}

/// Says at the end of a text that it was cut, if it was.
pub(super) fn noting_the_cut(mut text: String, truncated: bool) -> String {
    if truncated {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES - CUT.len()));
        text.push_str(CUT);
    }
    text
}

/// One line of a title: without line ends and control characters, and not too long.
pub(super) fn line(title: &str) -> String {
    let words: Vec<_> = title.split(|it: char| it.is_whitespace() || it.is_control()).collect();
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MAX_LINE_LENGTH).collect()
}

/// A mark at the beginning tells, then UTF-8 that is valid, then what was declared, then the bytes.
fn encoding(bytes: &[u8], declared: Option<&'static Encoding>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    if is_utf8(bytes) {
        return UTF_8;
    }
    declared.unwrap_or_else(|| {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        // ASCII tells nothing, but for the escapes of ISO-2022-JP.
        let from = bytes.iter().position(|byte| !byte.is_ascii() || *byte == 0x1B).unwrap_or(bytes.len());
        let telling = &bytes[from..];
        detector.feed(&telling[..telling.len().min(MAX_SNIFFED_BYTES)], telling.len() <= MAX_SNIFFED_BYTES);
        detector.guess(None, Utf8Detection::Allow)
    })
}

/// Whether it is UTF-8, an incomplete character at the end aside.
fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn declared_in_html(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(HTML_PRESCAN)].to_ascii_lowercase();
    let at = head.windows(8).position(|it| it == b"charset=")?;
    let rest = head[at + 8..].trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest);
    let end = rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(byte)))?;
    Encoding::for_label(&rest[..end])
}

#[cfg(test)]
mod tests;
