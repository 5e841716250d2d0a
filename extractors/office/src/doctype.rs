//! Document type declarations of XHTML, and the entities that they declare.

use std::collections::HashMap;

/// Maximum number of entities that are declared in a document.
const MAX_ENTITIES: usize = 1000;
/// Maximum length of what stands for an entity, in bytes.
const MAX_VALUE_BYTES: usize = 1 << 10;
/// What entities may add to a document, in bytes.
const MAX_ADDED_BYTES: usize = 4 << 20;

/// Returns a document without its declaration, and with the text for its own entities. What an entity stands for is
/// inserted as text, in which no other entity is expanded; nothing is loaded.
pub(crate) fn expanded(document: &str) -> String {
    let Some((before, declaration, after)) = split(document) else { return document.to_owned() };
    let entities = entities(declaration);
    let mut expanded = before.to_owned();
    let mut added = 0;
    let mut pieces = after.split('&');
    expanded.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let name = piece.split_once(';').and_then(|(name, rest)| Some((entities.get(name)?, rest)));
        match name {
            Some((value, rest)) if added + value.len() <= MAX_ADDED_BYTES => {
                added += value.len();
                expanded.push_str(value);
                expanded.push_str(rest);
            }
            _ => {
                expanded.push('&');
                expanded.push_str(piece);
            }
        }
    }
    expanded
}

/// What is before the declaration, in its internal subset, and after it.
fn split(document: &str) -> Option<(&str, &str, &str)> {
    let start = document.find("<!DOCTYPE")?;
    let declaration = &document[start..];
    let (subset, end) = match (declaration.find('['), declaration.find('>')?) {
        (Some(open), close) if open < close => {
            let end = open + declaration[open..].find("]")?;
            // A value may have the bracket in it; the subset ends where the declaration does.
            let end = declaration[end..].find("]>").map_or(end, |at| end + at);
            (&declaration[open + 1..end], end + declaration[end..].find('>')? + 1)
        }
        (_, close) => ("", close + 1),
    };
    Some((&document[..start], subset, &declaration[end..]))
}

/// The general entities of a subset that stand for text, as text for a document.
fn entities(subset: &str) -> HashMap<&str, String> {
    let mut entities = HashMap::new();
    for declaration in subset.split("<!ENTITY").skip(1).take(MAX_ENTITIES) {
        let declaration = declaration.trim_start();
        let Some((name, rest)) = declaration.split_once(char::is_whitespace) else { continue };
        let rest = rest.trim_start();
        // Neither a parameter entity nor one outside of the document.
        let Some(quote) = rest.chars().next().filter(|it| matches!(it, '"' | '\'')) else { continue };
        let Some((value, _)) = rest[1..].split_once(quote) else { continue };
        if name != "%" && value.len() <= MAX_VALUE_BYTES {
            let is_reference = |(at, _): &(usize, &str)| value[*at..].starts_with("&#");
            let is_nested = value.match_indices('&').any(|found| !is_reference(&found));
            let value = if is_nested { value.replace('&', "&amp;") } else { value.to_owned() };
            entities.insert(name, value.replace('<', "&lt;"));
        }
    }
    entities
}
