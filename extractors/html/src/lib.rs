//! Reads the text of Web pages: the article where there is one, and otherwise all that a reader sees.
//! Does something in the sandbox alone.
#![cfg(target_family = "wasm")]

mod outline;

use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use dom_smoothie::{Config, Readability, TextMode};
use outline::Outline;

/// As deep as browsers nest elements. A page that nests deeper is read without its tree.
const DEEPEST: usize = 512;
/// Elements of a page that is read with its tree: judging each takes memory and time.
const ELEMENTS: usize = 200_000;
/// The longest text that the host takes, in bytes.
const LONGEST: usize = 4 << 20;

/// Reads Web pages.
pub struct HtmlExtractor;

impl Guest for HtmlExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        let page = String::from_utf8_lossy(&file);
        let outline = outline::read(&page);
        Ok(article(&page, &outline).unwrap_or_else(|| all(&outline)))
    }
}

/// Finds the article of a page, if it has one.
fn article(page: &str, outline: &Outline) -> Option<Extracted> {
    if outline.depth > DEEPEST {
        return None;
    }
    let config =
        Config { max_elements_to_parse: ELEMENTS, text_mode: TextMode::Formatted, ..Config::default() };
    let article = Readability::new(page, None, Some(config)).ok()?.parse().ok()?;
    let text = article.text_content.trim();
    (!text.is_empty()).then(|| extracted(&article.title, text))
}

/// All of the page's text.
fn all(outline: &Outline) -> Extracted {
    extracted(&outline.title, outline.text.trim())
}

fn extracted(title: &str, text: &str) -> Extracted {
    let title = title.trim();
    let end = text.floor_char_boundary(LONGEST);
    Extracted {
        title: (!title.is_empty()).then(|| title.to_owned()),
        text: text[..end].to_owned(),
        truncated: end < text.len(),
    }
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/current/extractor", world: "extractor" });

    use super::HtmlExtractor;
    export!(HtmlExtractor);
}
