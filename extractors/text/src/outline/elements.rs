//! What elements do to the text around them. Every element that is not named here is inline, as in browsers.

/// Elements that a parser opens again in each block until they are closed (HTML Standard, section 13.2.4.3).
pub(super) const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Returns whether an element is a block: its text stands on lines of its own.
pub(super) fn is_block(name: &str) -> bool {
    block(name).is_some()
}

/// Returns the name of a block.
pub(super) fn block(name: &str) -> Option<&'static str> {
    const BLOCKS: [&str; 74] = [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "button",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "embed",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hgroup",
        "hr",
        "html",
        "iframe",
        "input",
        "legend",
        "li",
        "link",
        "main",
        "menu",
        "meta",
        "nav",
        "navpoint",
        "noscript",
        "object",
        "ol",
        "optgroup",
        "option",
        "p",
        "pre",
        "script",
        "search",
        "section",
        "select",
        "style",
        "summary",
        "svg",
        "table",
        "tbody",
        "template",
        "text",
        "textarea",
        "tfoot",
        "thead",
        "title",
        "tr",
        "ul",
        "video",
        "audio",
        "canvas",
        "listing",
        "plaintext",
        "xmp",
    ];
    BLOCKS.into_iter().find(|block| *block == name)
}

/// Returns whether an element is a cell of a table.
pub(super) fn is_cell(name: &str) -> bool {
    matches!(name, "td" | "th")
}

/// Returns whether a tag has no content, or is closed by its next sibling. Such tags do not add to the depth,
/// however many there are.
pub(super) fn is_closed_by_its_sibling(name: &str) -> bool {
    const NOT_NESTING: [&str; 27] = [
        "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
        "optgroup", "option", "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead",
        "tr", "wbr",
    ];
    NOT_NESTING.contains(&name)
}
