//! Untrusted files, captured or uploaded: what the server does with the bytes outside of the sandbox.

use kitbag::fuzzing::capture::{is_text, media_type, page, text, title};
use kitbag::fuzzing::{ingest, web};
use kitbag_knowledge::MAX_TEXT_BYTES;
use percent_encoding::percent_decode_str;

/// Input: a line `claimed media type|file name`, followed by the file.
///
/// Checks that the detected type is a media type, that text is UTF-8 within its limit and keeps everything
/// that was UTF-8, and that neither name nor type breaks out of the header of a download.
pub fn file(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let label = String::from_utf8_lossy(&data[..at]);
    let (claimed_type, name) = label.split_once('|').unwrap_or((&label, ""));
    let bytes = data.get(at + 1..).unwrap_or_default();

    let kind = media_type(bytes, Some(claimed_type), Some(name));
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|it| it.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&it))
    };
    let parts = kind.split_once('/');
    assert!(parts.is_some_and(|(kind, of)| is_token(kind) && is_token(of)), "{kind:?} is no media type");
    check_disposition(name, &kind);
    check_line(name);

    if is_text(&kind, Some(claimed_type)) {
        check_text(bytes);
    }
    let page = page(bytes.to_vec());
    assert!(std::str::from_utf8(&page).is_ok(), "a page that is rewritten is UTF-8");

    if let Ok(given) = std::str::from_utf8(bytes) {
        let read = ingest::text(given.to_owned());
        assert!(given.ends_with(&read.text), "front matter is taken off, and nothing else");
        assert!(read.title.is_none_or(|title| !title.contains('\n')));
        assert!(read.url.is_none_or(|url| url.starts_with("http://") || url.starts_with("https://")));
    }
}

fn check_text(bytes: &[u8]) {
    const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

    let (read, truncated) = text(bytes);
    assert!(read.len() <= MAX_TEXT_BYTES);
    let has_other_mark = bytes.starts_with(b"\xFE\xFF") || bytes.starts_with(b"\xFF\xFE");
    if let Ok(given) = std::str::from_utf8(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes))
        && !truncated
        && !has_other_mark
        && !given.contains(is_stray)
    {
        assert_eq!(read, given, "text in UTF-8 stays as it is");
    }
}

/// Whether it is a control character that texts have by mistake, or for printers; zeros are of UTF-16.
fn is_stray(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\x0C')
}

fn check_line(given: &str) {
    let line = title(given);
    assert!(!line.chars().any(char::is_control) && line.chars().count() <= 300, "{line:?}");
    assert_eq!(title(&line).trim(), line.trim(), "a line stays as it is");
}

fn check_disposition(name: &str, kind: &str) {
    let header = web::disposition(name, kind);
    let value = header.to_str().expect("the header is ASCII");
    let names = value
        .strip_prefix("attachment; filename=\"")
        .and_then(|rest| rest.split_once("\"; filename*=UTF-8''"));
    let (plain, encoded) = names.unwrap_or_else(|| panic!("{value:?} has two names"));
    assert!(!plain.contains(['"', '\\', '/']) && !plain.starts_with('.'), "{value:?}");
    assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\;, /".contains(&byte)), "{value:?}");
    let decoded = percent_decode_str(encoded).decode_utf8().expect("it is UTF-8");
    assert!(!decoded.contains(['/', '\\', '"']) && !decoded.chars().any(char::is_control), "{decoded:?}");
    assert!(!decoded.contains(is_bidirectional_control), "{decoded:?}");
    assert!(!decoded.is_empty() && decoded != "." && decoded != "..", "{decoded:?} is no file name");
}

fn is_bidirectional_control(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
