//! What extractors share: text that is collected up to a limit, and the text of HTML without its element tree.
//! Compiled for WebAssembly only, and for tests.
#![cfg(any(target_family = "wasm", test))]

pub mod article;
mod flow;
pub mod outline;
pub mod tags;
mod title;

pub use flow::Flow;
pub use outline::{Outline, Syntax};
pub use title::{own_title, title};

/// Maximum length of a text that the host accepts, in bytes.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// Returns `text` up to [`MAX_TEXT_BYTES`], without white space at its ends; says whether it was cut.
pub fn cut(text: &str) -> (String, bool) {
    let text = text.trim();
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    (text[..end].to_owned(), end < text.len())
}
