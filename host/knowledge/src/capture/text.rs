//! Text files: converts bytes of any encoding to UTF-8, up to the indexed size.

mod headings;
mod legacy;
mod wide;

use bytes::Bytes;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Encoding, UTF_8};

use super::{Extracted, MAX_TEXT_BYTES};
pub use headings::{FrontMatter, Markup};
use legacy::Legacy;
pub(super) use wide::Wide;

/// Note at the end of a truncated text.
const CUT: &str = "\n\n[The file holds more text than this. The rest, beyond 4 MiB, is not indexed.]";
/// Extra output space that the decoder needs, in bytes.
const SLACK: usize = 1 << 10;
/// Largest number of characters of a title.
const MAX_LINE_LENGTH: usize = 300;
/// Largest size of an HTML page that is converted; each byte may become three.
const MAX_REWRITTEN_BYTES: usize = 16 << 20;
/// Largest number of bytes from which an encoding is guessed.
const MAX_SNIFFED_BYTES: usize = 256 << 10;
/// Bytes in which HTML may declare its encoding (HTML Standard, section 4.2.5.4).
const HTML_PRESCAN: usize = 1024;

/// Reads a text file; `bytes` may be longer than what is used. Also returns the name of its encoding.
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
    // Not flagged as the last piece: an incomplete character at the end is due to truncation, or no loss.
    let (result, _read, _had_errors) = decoder.decode_to_string(bytes, &mut text, false);
    let truncated =
        bytes.len() > MAX_TEXT_BYTES || text.len() > MAX_TEXT_BYTES || result == CoderResult::OutputFull;
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    (Extracted { title: None, text: printable(text), truncated }, encoding.name())
}

/// Truncates a text to the indexed size; `is_longer` says whether the file contains more than was decoded.
fn cut(text: String, is_longer: bool) -> Extracted {
    let mut text = printable(text);
    let truncated = is_longer || text.len() > MAX_TEXT_BYTES;
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    Extracted { title: None, text, truncated }
}

/// Encoding of a text with multi-byte code units. Text without zero bytes is read as single-byte units,
/// unless it is East Asian text without a line end.
fn wide(bytes: &[u8]) -> Option<Wide> {
    let is_ascii_or_utf8 = is_utf8(bytes) && !bytes.contains(&0);
    if is_ascii_or_utf8 { None } else { Wide::detect(bytes) }
}

/// Removes control characters, which terminals or printers would interpret. A backspace also removes the
/// character before it, as in bold and underlined words of manual pages.
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

/// HTML page in UTF-8.
pub(super) struct Page {
    pub(super) html: Bytes,
    /// Whether the page was truncated; never for UTF-8, which is not copied.
    pub(super) was_cut: bool,
    /// Name of the original encoding.
    pub(super) encoding: &'static str,
}

/// Converts an HTML page to UTF-8.
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

/// Appends a note to a truncated text.
pub(super) fn noting_the_cut(mut text: String, truncated: bool) -> String {
    if truncated {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES - CUT.len()));
        text.push_str(CUT);
    }
    text
}

/// Converts a title to one line: without line ends and control characters, limited in length.
pub(super) fn line(title: &str) -> String {
    let words: Vec<_> = title.split(|it: char| it.is_whitespace() || it.is_control()).collect();
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MAX_LINE_LENGTH).collect()
}

/// Encoding of a text: by its byte order mark, else UTF-8 if valid, else as declared, else guessed.
fn encoding(bytes: &[u8], declared: Option<&'static Encoding>) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    if is_utf8(bytes) {
        return UTF_8;
    }
    declared.unwrap_or_else(|| {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        // ASCII bytes are not informative, except for the escapes of ISO-2022-JP.
        let from = bytes.iter().position(|byte| !byte.is_ascii() || *byte == 0x1B).unwrap_or(bytes.len());
        let telling = &bytes[from..];
        detector.feed(&telling[..telling.len().min(MAX_SNIFFED_BYTES)], telling.len() <= MAX_SNIFFED_BYTES);
        detector.guess(None, Utf8Detection::Allow)
    })
}

/// Whether the bytes are UTF-8; an incomplete character at the end is allowed.
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
