//! Entry points for `fuzz/`.

use bytes::Bytes;

use super::kind::{Kind, Label};
use super::{kind, text};

/// Detects the media type of a captured file from its bytes and the sender's claims.
pub fn media_type(head: &[u8], claimed_type: Option<&str>, name: Option<&str>) -> String {
    kind::media_type(head, &Label { media_type: claimed_type, name })
}

/// Whether the server itself decodes a file of this type as text.
pub fn is_text(media_type: &str, claimed_type: Option<&str>) -> bool {
    Kind::of(media_type, claimed_type) == Kind::Text
}

/// Decodes a text file. Also returns whether the text was truncated.
pub fn text(bytes: &[u8]) -> (String, bool) {
    let (extracted, _) = text::read(bytes);
    (extracted.text, extracted.truncated)
}

/// Converts an HTML page to UTF-8.
pub fn page(bytes: Vec<u8>) -> Bytes {
    text::html_as_utf8(bytes.into()).html
}

/// Converts a title to one line.
pub fn title(text: &str) -> String {
    text::line(text)
}
