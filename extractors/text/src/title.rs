//! Titles of files.

/// Maximum length of a title, in bytes. The host accepts some more beside a text of the maximum length.
const MAX_TITLE_BYTES: usize = 4 << 10;

/// What programs put before the name of the file that they print.
const PRINTED_BY: [&str; 4] =
    ["Microsoft Word - ", "Microsoft PowerPoint - ", "Microsoft Excel - ", "Print - "];

/// Titles that programs give to new documents, in small letters, without a number at their end.
const DEFAULTS: [&str; 29] = [
    "(anonymous)",
    "(untitled)",
    "about:blank",
    "aucun titre de diapositive",
    "document",
    "dokument",
    "folie",
    "home",
    "index",
    "ingen lysbildetittel",
    "kein folientitel",
    "new document",
    "no slide title",
    "no title",
    "none",
    "powerpoint presentation",
    "presentation",
    "print",
    "sans titre",
    "slide",
    "title",
    "unbenannt",
    "unknown",
    "untitled",
    "untitled document",
    "word document",
    "workbook",
    "没有幻灯片标题",
    "幻灯片",
];

/// Extensions of files; a title with one is a name.
const EXTENSIONS: [&str; 40] = [
    "ai", "bmp", "cdr", "csv", "doc", "docm", "docx", "dot", "dotx", "dvi", "dwg", "eps", "fm", "gif", "htm",
    "html", "indd", "jpeg", "jpg", "md", "odp", "ods", "odt", "p65", "pdf", "pmd", "png", "ppt", "pptx",
    "ps", "pub", "qxd", "rtf", "tex", "tif", "tiff", "txt", "wpd", "xls", "xlsx",
];

/// Returns the beginning of a title, without white space at its ends, if something is left of it.
pub fn title(title: &str) -> Option<String> {
    let title = title.trim();
    let title = &title[..title.floor_char_boundary(MAX_TITLE_BYTES)];
    (!title.is_empty()).then(|| title.to_owned())
}

/// Returns the title of a document, unless a program made it up: its default, the name of a file, a path.
pub fn own_title(text: &str) -> Option<String> {
    let text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let text = text.trim();
    let text = PRINTED_BY.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text).trim();
    let small = text.to_lowercase();
    let unnumbered = small.trim_end_matches(|it: char| it.is_ascii_digit() || matches!(it, ' ' | '-' | '_'));
    let has_extension = small.rsplit_once('.').is_some_and(|(_, end)| EXTENSIONS.contains(&end));
    let is_path = text.starts_with(['/', '\\']) || text.contains(":\\") || small.starts_with("file:");
    let is_default = DEFAULTS.contains(&small.as_str()) || DEFAULTS.contains(&unnumbered);
    if has_extension || is_path || is_default || !text.chars().any(char::is_alphanumeric) {
        return None;
    }
    title(text)
}
