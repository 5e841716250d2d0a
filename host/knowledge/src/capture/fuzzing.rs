//! Entry points for `fuzz/`.

use bytes::Bytes;

use super::kind::{Kind, Label};
use super::{kind, text};

/// The media type of a captured file, read from its bytes beside what its sender says.
pub fn media_type(head: &[u8], claimed_type: Option<&str>, name: Option<&str>) -> String {
    kind::media_type(head, &Label { media_type: claimed_type, name })
}

/// Whether the server decodes such a file as text by itself.
pub fn is_text(media_type: &str, claimed_type: Option<&str>) -> bool {
    Kind::of(media_type, claimed_type) == Kind::Text
}

/// Decodes a text file; says whether it was cut.
pub fn text(bytes: &[u8]) -> (String, bool) {
    let (extracted, _) = text::read(bytes);
    (extracted.text, extracted.truncated)
}

/// Rewrites a page in UTF-8.
pub fn page(bytes: Vec<u8>) -> Bytes {
    text::html_as_utf8(bytes.into()).html
}

/// One line of a title.
pub fn title(text: &str) -> String {
    text::line(text)
}
