//! What may stand around the header of a message in a file, and characters that may not be in one.

use std::borrow::Cow;

use encoding_rs::Encoding;

use crate::body;

/// Returns the message as the parser takes it: without a byte order mark, blank lines and the line that begins a message
/// in a mailbox, and with a header in UTF-8.
pub(crate) fn opened(file: &[u8]) -> Cow<'_, [u8]> {
    let message = without_lead(file);
    let end = end_of_header(message);
    let (header, rest) = message.split_at(end);
    if std::str::from_utf8(header).is_ok() {
        return Cow::Borrowed(message);
    }
    let header = match declared(header) {
        Some(encoding) => encoding.decode_without_bom_handling(header).0.into_owned(),
        None => body::guessed(header),
    };
    Cow::Owned([header.as_bytes(), rest].concat())
}

fn without_lead(file: &[u8]) -> &[u8] {
    let message = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file).trim_ascii_start();
    let is_envelope = message.starts_with(b"From ") || message.starts_with(b">From ");
    let line_end = message.iter().position(|byte| *byte == b'\n');
    line_end.filter(|_| is_envelope).map_or(message, |end| &message[end + 1..])
}

/// Where the first empty line is.
fn end_of_header(message: &[u8]) -> usize {
    let mut at = 0;
    for line in message.split_inclusive(|byte| *byte == b'\n') {
        if line.trim_ascii().is_empty() {
            break;
        }
        at += line.len();
    }
    at
}

/// The encoding that the header names for the body. Programs that write a header without encoding it have one for both.
fn declared(header: &[u8]) -> Option<&'static Encoding> {
    let header = header.to_ascii_lowercase();
    let at = header.windows(8).position(|name| name == b"charset=")? + 8;
    let value = header[at..].trim_ascii_start();
    let value = value.strip_prefix(b"\"").unwrap_or(value);
    let end = value.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(byte)));
    let encoding = Encoding::for_label(&value[..end.unwrap_or(value.len())])?;
    (encoding != encoding_rs::UTF_8 && encoding.is_ascii_compatible()).then_some(encoding)
}
