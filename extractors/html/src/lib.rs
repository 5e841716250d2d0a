//! Extracts the text of web pages: the article if there is one, and otherwise all visible text.
//! Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use dom_smoothie::{Config, Readability};
use extractor_text::{Flow, Outline, Syntax, article, outline, tags};

/// Maximum depth of an element tree, as in browsers. Deeper pages are read without building a tree.
const MAX_DEPTH: usize = 512;
/// Maximum number of unclosed formatting elements, such as `<b>`. Each further block gets a copy of all of them.
const MAX_FORMATTING: usize = 50;
/// Maximum work of escaping a page ([`Outline::escaping`]); more is read without its tree.
const MAX_ESCAPING: u64 = 1 << 29;
/// Maximum number of elements in a page for which the article is searched.
const MAX_ELEMENTS: usize = 200_000;

/// The extractor for web pages.
pub struct HtmlExtractor;

impl Guest for HtmlExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        let page = tags::bounded(&String::from_utf8_lossy(&file), Syntax::Html);
        let outline = outline::read(&page, Syntax::Html);
        let article = article(&page, &outline);
        let title = article.as_ref().map_or(&*outline.title, |article| &*article.title);
        let title = extractor_text::own_title(title);
        let mut flow = Flow::default();
        // The article finder takes the heading for the title, and out of the text.
        flow.push(&outline.heading);
        flow.paragraph();
        match article {
            Some(article) => flow.blocks(&article.text),
            None => flow.blocks(&without_heading(outline.text, &outline.heading)),
        }
        let (text, truncated) = flow.finish();
        Ok(Extracted { title, text, truncated })
    }
}

/// The part of a page that its reader came for.
struct Article {
    title: String,
    /// As in an [`Outline`].
    text: String,
}

/// Reads the article of a page, if it has one.
fn article(page: &str, outline: &Outline) -> Option<Article> {
    if outline.depth > MAX_DEPTH || outline.formatting > MAX_FORMATTING || outline.escaping > MAX_ESCAPING {
        return None;
    }
    let config = Config { max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
    let found = Readability::new(page, None, Some(config)).ok()?.parse().ok()?;
    let text = article::choose(outline, &outline::read(&found.content, Syntax::Html).text);
    let text = without_heading(text, &outline.heading);
    (!text.trim().is_empty()).then_some(Article { title: found.title, text })
}

/// Leaves the heading out at the beginning, before which it is written anyway.
fn without_heading(text: String, heading: &str) -> String {
    let heading = heading.trim();
    match text.trim_start().strip_prefix(heading) {
        Some(rest) if !heading.is_empty() && rest.starts_with('\n') => rest.to_owned(),
        _ => text,
    }
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/current/extractor", world: "extractor" });

    use super::HtmlExtractor;
    export!(HtmlExtractor);
}
