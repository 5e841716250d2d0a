//! Entry points for `fuzz/`.

use std::io::Cursor;

use kitbag_knowledge::Markup;
use serde_json::Value;

use super::lines::Lines;
use super::text;

/// Parses a JSON Lines file of documents: line numbers, each with the document to send or the error.
pub fn lines(file: Vec<u8>) -> Vec<(usize, Result<Value, String>)> {
    let mut lines = Lines::of(Cursor::new(file));
    let in_json = |document| serde_json::to_value(document).expect("a document is JSON");
    std::iter::from_fn(|| lines.next()).map(|(number, line)| (number, line.map(in_json))).collect()
}

/// Metadata that a text contains about itself, and the remaining text.
#[derive(Debug)]
pub struct Reading {
    /// Title from the front matter or the first heading.
    pub title: Option<String>,
    /// Publication URL.
    pub url: Option<String>,
    /// Text without its front matter.
    pub text: String,
}

/// Parses a text file.
pub fn text(file: String) -> Reading {
    let parsed = text::parse(file);
    Reading { title: text::title_of(&parsed, Markup::Markdown), url: parsed.url, text: parsed.text }
}
