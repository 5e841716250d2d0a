//! The page tree (ISO 32000-1, section 7.7.3), before anybody walks it who does not look where they were.

use std::collections::HashSet;

use pdf_oxide::document::PdfDocument;
use pdf_oxide::object::Object;

/// Whether the tree is none: one of its nodes stands below two others, or below itself. Counting its
/// pages would double with each level.
pub(crate) fn is_tangled(document: &PdfDocument) -> bool {
    let Some(root) = root(document) else { return false };
    let (mut seen, mut waiting) = (HashSet::new(), vec![root]);
    while let Some(node) = waiting.pop() {
        let resolved = document.resolve_object(&node).unwrap_or(Object::Null);
        let kids = resolved.as_dict().and_then(|node| node.get("Kids"));
        let kids = kids.and_then(|kids| document.resolve_object(kids).ok());
        // A page has none, and may stand in the tree twice.
        let Some(Object::Array(kids)) = kids else { continue };
        if node.as_reference().is_some_and(|node| !seen.insert(node)) {
            return true;
        }
        waiting.extend(kids);
    }
    false
}

fn root(document: &PdfDocument) -> Option<Object> {
    let catalog = document.resolve_object(document.trailer().as_dict()?.get("Root")?).ok()?;
    catalog.as_dict()?.get("Pages").cloned()
}
