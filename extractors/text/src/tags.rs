//! Rewrites a page so that parsing it takes time in proportion to its length.
//!
//! html5ever compares each attribute of a tag with all others, and which parts of a page it reads as tags depends on the
//! tree that it builds. So attributes are limited before it sees the page.
//!
//! Invariant: in the rewritten page `<` occurs only where a tag or the document type begins, and each of them is
//! complete. So whatever the parser takes as text, a tag that it reads is one of these.

use crate::Syntax;

/// Maximum number of attributes of a tag; further ones are left out.
const MAX_ATTRIBUTES: usize = 100;

/// Elements whose content is text without tags.
const TEXT_ELEMENTS: [&str; 8] =
    ["iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"];

/// Returns the page without comments, with complete tags of a limited number of attributes. CDATA sections of XML become
/// text.
pub fn bounded(page: &str, syntax: Syntax) -> String {
    let mut rest = page;
    let mut out = String::with_capacity(page.len());
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = if begins_tag(rest) {
            let Some((name, after)) = tag(rest, &mut out) else { return out };
            match TEXT_ELEMENTS.iter().find(|it| it.eq_ignore_ascii_case(name)) {
                // In XML, every element may close itself; in HTML, the title of a picture.
                Some(name) if !out.ends_with("/>") || syntax == Syntax::Html && *name != "title" => {
                    content(name, after, &mut out)
                }
                _ => after,
            }
        } else if let Some(section) = rest.strip_prefix("<![CDATA[").filter(|_| syntax == Syntax::Xml) {
            let (text, after) = section.split_once("]]>").unwrap_or((section, ""));
            out.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
            after
        } else if let Some(comment) = rest.strip_prefix("<!--") {
            after_comment(comment)
        } else if rest.starts_with("<!") || rest.starts_with("<?") || rest.starts_with("</") {
            let (declaration, after) = rest.split_once('>').unwrap_or((rest, ""));
            if declaration.get(..9).is_some_and(|it| it.eq_ignore_ascii_case("<!doctype")) {
                out.push('<');
                out.push_str(&declaration[1..].replace('<', ""));
                out.push('>');
            }
            after
        } else {
            out.push_str("&lt;");
            &rest[1..]
        };
    }
    out.push_str(rest);
    out
}

fn begins_tag(text: &str) -> bool {
    let name = text.strip_prefix("</").unwrap_or(&text[1..]);
    name.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Returns what follows a comment, whose start was read.
fn after_comment(comment: &str) -> &str {
    if let Some(after) = comment.strip_prefix('>').or_else(|| comment.strip_prefix("->")) {
        return after;
    }
    let mut ends = comment.match_indices('>').map(|(at, _)| at);
    let end = ends.find(|at| comment[..*at].ends_with("--") || comment[..*at].ends_with("--!"));
    &comment[end.map_or(comment.len(), |at| at + 1)..]
}

/// Copies a tag, with its first attributes. Returns the name of a start tag, or an empty one, and what follows; `None`
/// if the page ends within the tag.
fn tag<'p>(text: &'p str, out: &mut String) -> Option<(&'p str, &'p str)> {
    let start = out.len();
    let name_at = if text.starts_with("</") { 2 } else { 1 };
    let name_end = name_at + text[name_at..].find(|it: char| is_space(it) || it == '/' || it == '>')?;
    out.push_str(&text[..name_at]);
    push(&text[name_at..name_end], out);
    let mut rest = &text[name_end..];
    for attributes in 0_usize.. {
        rest = rest.trim_start_matches(|it: char| is_space(it) || it == '/');
        let Some(end) = attribute(rest) else {
            out.truncate(start);
            return None;
        };
        if end == 0 {
            break;
        }
        if attributes < MAX_ATTRIBUTES {
            out.push(' ');
            push(&rest[..end], out);
        }
        rest = &rest[end..];
    }
    // An element of SVG or MathML may be empty by this.
    let is_empty = text[..text.len() - rest.len()].ends_with('/');
    out.push_str(if is_empty { " />" } else { ">" });
    let name = if name_at == 1 { &text[name_at..name_end] } else { "" };
    Some((name, rest.strip_prefix('>').unwrap_or(rest)))
}

/// Returns the length of an attribute with its value, 0 at the end of the tag, and `None` at the end of the page.
fn attribute(text: &str) -> Option<usize> {
    if text.starts_with('>') {
        return Some(0);
    }
    // A name may begin with `=`.
    let first = text.chars().next()?.len_utf8();
    let name = first + text[first..].find(|it: char| is_space(it) || matches!(it, '/' | '>' | '='))?;
    let after = text[name..].trim_start_matches(is_space);
    let Some(value) = after.strip_prefix('=') else { return Some(name) };
    let value = value.trim_start_matches(is_space);
    let value_at = text.len() - value.len();
    let length = match value.chars().next()? {
        quote @ ('"' | '\'') => 1 + value[1..].find(quote)? + 1,
        '>' => 0,
        _ => value.find(|it: char| is_space(it) || it == '>')?,
    };
    Some(value_at + length)
}

/// Copies the content of an element without tags, up to its end tag. Returns what follows.
fn content<'p>(name: &str, text: &'p str, out: &mut String) -> &'p str {
    let mut end = text.len();
    for (at, _) in text.match_indices("</") {
        let after = &text.as_bytes()[at + 2..];
        let found = after.get(..name.len());
        let next = after.get(name.len());
        if found.is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
            && next.is_none_or(|it| it.is_ascii_whitespace() || matches!(it, b'/' | b'>'))
        {
            end = at;
            break;
        }
    }
    // Within scripts there may be JSON with the page's title.
    let escaped = if name == "script" { "\\u003c" } else { "&lt;" };
    out.push_str(&text[..end].replace('<', escaped));
    &text[end..]
}

fn push(text: &str, out: &mut String) {
    for (number, piece) in text.split('<').enumerate() {
        if number > 0 {
            out.push_str("&lt;");
        }
        out.push_str(piece);
    }
}

/// White space of HTML.
fn is_space(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\x0C' | '\r' | ' ')
}
