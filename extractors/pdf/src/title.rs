//! The title that a file gives itself: in its information dictionary (ISO 32000-1, section 14.3.3), or else in its
//! metadata (ISO 16684-1).

use hayro_interpret::hayro_syntax::Pdf;
use hayro_interpret::hayro_syntax::object::{Dict, Stream};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use crate::text_string;

/// Maximum size of metadata that is read, in bytes.
const MAX_METADATA_BYTES: usize = 1 << 20;

/// Returns the title of a file, unless it is one that a program made up.
pub(crate) fn read(document: &Pdf) -> Option<String> {
    let title = document.metadata().title.as_ref().map(|title| text_string::decode(title));
    title.and_then(|title| extractor_text::own_title(&title)).or_else(|| {
        let catalog = document.xref().get::<Dict<'_>>(document.xref().root_id())?;
        let metadata = catalog.get::<Stream<'_>>(b"Metadata".as_slice())?.decoded().ok()?;
        let metadata = &metadata[..metadata.len().min(MAX_METADATA_BYTES)];
        extractor_text::own_title(&title_in(&String::from_utf8_lossy(metadata))?)
    })
}

/// The first `dc:title`.
fn title_in(metadata: &str) -> Option<String> {
    let mut reader = Reader::from_str(metadata);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut title = String::new();
    let mut is_inside = false;
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) if tag.name().as_ref() == "dc:title" => is_inside = true,
            Event::End(tag) if tag.name().as_ref() == "dc:title" => return Some(title),
            Event::End(tag) if is_inside && tag.name().as_ref() == "rdf:li" => return Some(title),
            Event::Text(text) if is_inside => title.push_str(&text.into_inner()),
            Event::GeneralRef(reference) if is_inside => match reference.resolve_char_ref() {
                Ok(Some(character)) => title.push(character),
                _ => title.push_str(resolve_predefined_entity(&reference).unwrap_or_default()),
            },
            Event::Eof => return None,
            _ => {}
        }
    }
}
