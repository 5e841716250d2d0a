//! What extractors share: text that is collected up to a limit, and the text of HTML without its element tree.
//! Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

mod flow;
pub mod outline;
pub mod tags;

pub use flow::Flow;
pub use outline::Outline;

/// Maximum length of a text that the host accepts, in bytes.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// Maximum length of a title, in bytes. The host accepts some more beside a text of the maximum length.
const MAX_TITLE_BYTES: usize = 4 << 10;

/// Returns `text` up to [`MAX_TEXT_BYTES`], without white space at its ends; says whether it was cut.
pub fn cut(text: &str) -> (String, bool) {
    let text = text.trim();
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    (text[..end].to_owned(), end < text.len())
}

/// Returns the beginning of a title, without white space at its ends, if something is left of it.
pub fn title(title: &str) -> Option<String> {
    let title = title.trim();
    let title = &title[..title.floor_char_boundary(MAX_TITLE_BYTES)];
    (!title.is_empty()).then(|| title.to_owned())
}
