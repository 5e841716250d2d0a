//! Titles of `CommonMark` texts.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::MAX_LINES;

/// Largest number of bytes in which a heading is searched: parsing takes time in proportion to it.
const MAX_BYTES: usize = 64 << 10;

/// First heading of the first level, as a person reads it. One in HTML counts, as READMEs have it.
pub(super) fn title(text: &str) -> Option<String> {
    let end = text.split_inclusive('\n').take(MAX_LINES).map(str::len).sum::<usize>();
    let text = &text[..text.floor_char_boundary(end.min(MAX_BYTES))];
    let mut title: Option<String> = None;
    let mut html = String::new();
    // Headings in quotations and lists are not those of the text.
    let mut depth = 0_usize;
    for event in Parser::new_ext(text, Options::ENABLE_HEADING_ATTRIBUTES | Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::Item) => depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::Item) => depth = depth.saturating_sub(1),
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) if depth == 0 => {
                title = Some(String::new())
            }
            Event::End(TagEnd::Heading(HeadingLevel::H1)) if depth == 0 => return title,
            Event::Text(text) | Event::Code(text) => {
                if let Some(title) = &mut title {
                    title.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(title) = &mut title {
                    title.push(' ');
                }
            }
            Event::Html(line) => html.push_str(&line),
            Event::End(TagEnd::HtmlBlock) => {
                if let Some(heading) = heading_of(&html) {
                    return Some(heading);
                }
                html.clear();
            }
            _ => {}
        }
    }
    None
}

/// Text of a heading of the first level in HTML.
fn heading_of(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let start = ["<h1>", "<h1 "].into_iter().filter_map(|tag| lower.find(tag)).min()?;
    let from = start + lower[start..].find('>')? + 1;
    let end = from + lower[from..].find("</h1")?;
    let mut shown = String::new();
    let mut rest = &html[from..end];
    while let Some((before, tag)) = rest.split_once('<') {
        shown.push_str(before);
        rest = tag.split_once('>')?.1;
    }
    shown.push_str(rest);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    (!shown.is_empty()).then_some(shown)
}
