//! Entry points for `fuzz/`.

use std::io::Cursor;

use kitbag_knowledge::Markup;
use serde_json::Value;

use super::lines::Lines;
use super::text;

/// Reads the lines of a file of documents: the number of each, and the document as it is sent or what is
/// wrong with it.
pub fn lines(file: Vec<u8>) -> Vec<(usize, Result<Value, String>)> {
    let mut lines = Lines::of(Cursor::new(file));
    let in_json = |document| serde_json::to_value(document).expect("a document is JSON");
    std::iter::from_fn(|| lines.next()).map(|(number, line)| (number, line.map(in_json))).collect()
}

/// What a text says about itself.
#[derive(Debug)]
pub struct Reading {
    /// From its front matter or its first heading.
    pub title: Option<String>,
    /// Where it was published.
    pub url: Option<String>,
    /// The text without its front matter.
    pub text: String,
}

/// Reads a file of text.
pub fn text(file: String) -> Reading {
    let parsed = text::parse(file);
    Reading { title: text::title_of(&parsed, Some(Markup::Markdown)), url: parsed.url, text: parsed.text }
}
