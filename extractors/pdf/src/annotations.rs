//! What readers have added to a page: comments, and the values of form fields. Most of them are drawn, and are part of the
//! page's text; only the others are read here.

use hayro_interpret::hayro_syntax::object::{Array, Dict, Name, String as PdfString};
use hayro_interpret::hayro_syntax::page::Page;

use crate::text_string;

/// Maximum number of annotations of a page that are read.
const MAX_ANNOTATIONS: usize = 2000;
/// Maximum number of parents of a field that are asked for its value.
const MAX_PARENTS: usize = 8;
/// `Hidden` and `NoView` (ISO 32000-2, table 167).
const NOT_SHOWN: u32 = 1 << 1 | 1 << 5;

/// Returns the texts of annotations that are not in the text that the page shows, a line for each.
pub(crate) fn read(page: &Page<'_>, shown: &str) -> String {
    let shown = without_spaces(shown);
    let Some(annotations) = page.raw().get::<Array<'_>>(b"Annots".as_slice()) else { return String::new() };
    let mut lines: Vec<String> = Vec::new();
    for annotation in annotations.iter::<Dict<'_>>().take(MAX_ANNOTATIONS) {
        if annotation.get::<u32>(b"F".as_slice()).unwrap_or(0) & NOT_SHOWN != 0 {
            continue;
        }
        let subtype = annotation.get::<Name<'_>>(b"Subtype".as_slice());
        let text = match subtype.as_ref().map(Name::as_str) {
            Some("Widget") => value(annotation.clone()),
            // A popup repeats the comment that it belongs to.
            Some("Link" | "Popup") | None => None,
            _ => string(&annotation, b"Contents"),
        };
        let is_drawn = annotation.contains_key(b"AP".as_slice());
        let text = text.filter(|text| !is_drawn || !shown.contains(&without_spaces(text)));
        let text = text.map(|text| text.replace('\r', "\n").trim().to_owned());
        lines.extend(text.filter(|text| !text.is_empty() && lines.last() != Some(text)));
    }
    lines.join("\n")
}

/// Lines of an appearance end where there is no more room.
fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The value of a text field or choice, which may be that of a field above.
fn value(field: Dict<'_>) -> Option<String> {
    let mut field = field;
    for _ in 0..MAX_PARENTS {
        if let Some(value) = string(&field, b"V") {
            return Some(value);
        }
        field = field.get::<Dict<'_>>(b"Parent".as_slice())?;
    }
    None
}

fn string(dictionary: &Dict<'_>, key: &[u8]) -> Option<String> {
    dictionary.get::<PdfString<'_>>(key).map(|text| text_string::decode(text.as_bytes()))
}
