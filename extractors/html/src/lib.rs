//! Extracts the text of web pages: the article if there is one, and otherwise all visible text.
//! Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use dom_smoothie::{Config, Readability, TextMode};
use extractor_text::{Outline, cut, outline, tags};

/// Maximum depth of an element tree, as in browsers. Deeper pages are read without building a tree.
const MAX_DEPTH: usize = 512;
/// Maximum number of unclosed formatting elements, such as `<b>`. Each further block gets a copy of all of them.
const MAX_FORMATTING: usize = 50;
/// Maximum number of elements in a page for which the article is searched.
const MAX_ELEMENTS: usize = 200_000;

/// The extractor for web pages.
pub struct HtmlExtractor;

impl Guest for HtmlExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        let page = tags::bounded(&String::from_utf8_lossy(&file));
        let outline = outline::read(&page);
        Ok(article(&page, &outline).unwrap_or_else(|| all(&outline)))
    }
}

/// Finds the article of a page, if it has one.
fn article(page: &str, outline: &Outline) -> Option<Extracted> {
    if outline.depth > MAX_DEPTH || outline.formatting > MAX_FORMATTING {
        return None;
    }
    let config =
        Config { max_elements_to_parse: MAX_ELEMENTS, text_mode: TextMode::Formatted, ..Config::default() };
    let article = Readability::new(page, None, Some(config)).ok()?.parse().ok()?;
    let text = article.text_content.trim();
    (!text.is_empty()).then(|| extracted(&article.title, text))
}

/// Returns all text of the page.
fn all(outline: &Outline) -> Extracted {
    extracted(&outline.title, &outline.text)
}

fn extracted(title: &str, text: &str) -> Extracted {
    let (text, truncated) = cut(text);
    Extracted { title: extractor_text::title(title), text, truncated }
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/current/extractor", world: "extractor" });

    use super::HtmlExtractor;
    export!(HtmlExtractor);
}
