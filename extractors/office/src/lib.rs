//! Extracts the text of office documents, e-books and notebooks: the formats of Microsoft Office, `OpenDocument`, EPUB,
//! Jupyter.
//! What a file is, is read from its content. Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

mod archive;
mod doctype;
mod epub;
mod microsoft;
mod notebook;
mod open_document;
mod rtf;
mod ruby;
mod slides;
mod spreadsheet_xml;
mod workbook;
mod xml;

use archive::Archive;
use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use extractor_text::Flow;

/// The first bytes of a compound file (\[MS-CFB\], section 2.2).
const COMPOUND_FILE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

/// The extractor for office documents and e-books.
pub struct OfficeExtractor;

impl Guest for OfficeExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        if file.starts_with(COMPOUND_FILE) {
            return microsoft::read_compound(file);
        }
        if file.starts_with(rtf::SIGNATURE) {
            return rtf::read(&file);
        }
        if notebook::is_notebook(&file) {
            return notebook::read(&file);
        }
        if spreadsheet_xml::is_workbook(&file) {
            return spreadsheet_xml::read(file);
        }
        let archive = Archive::open(file)?;
        if archive.has("META-INF/container.xml") {
            epub::read(archive)
        } else if archive.has("content.xml") {
            open_document::read(archive)
        } else {
            microsoft::read_package(archive)
        }
    }
}

/// Returns what was collected from an archive. `failure` is why a part could not be read, if one could not: it counts if
/// there is no text at all.
fn collected(
    archive: &Archive,
    title: &str,
    flow: Flow,
    failure: Option<ExtractError>,
) -> Result<Extracted, ExtractError> {
    if flow.is_empty() {
        if let Some(failure) = failure.or_else(|| archive.excess()) {
            return Err(failure);
        }
    }
    let (text, truncated) = flow.finish();
    let truncated = truncated || archive.was_cut();
    Ok(Extracted { title: extractor_text::own_title(title), text, truncated })
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/current/extractor", world: "extractor" });

    use super::OfficeExtractor;
    export!(OfficeExtractor);
}
