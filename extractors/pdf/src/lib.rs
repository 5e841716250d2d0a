//! Extracts the text of PDF files. Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

mod page_tree;
mod text_string;

use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use pdf_oxide::document::PdfDocument;
use pdf_oxide::error::Error;

/// Maximum length of a text that the host accepts, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Number of consecutive unreadable pages after which the rest is skipped.
const MAX_UNREADABLE_PAGES: usize = 32;

/// The extractor for PDF files.
pub struct PdfExtractor;

impl Guest for PdfExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        let document = PdfDocument::from_bytes(file).map_err(explain)?;
        // Many files are encrypted with an empty password: they can be read, but printing may be restricted.
        if document.is_encrypted() && !document.authenticate(b"").map_err(explain)? {
            return Err(ExtractError::Encrypted);
        }
        let mut text = text(&document)?;
        let truncated = text.len() > MAX_TEXT_BYTES;
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        Ok(Extracted { title: title(&document), text, truncated })
    }
}

/// Extracts pages until the text is long enough. Unreadable pages are skipped, unless all are.
fn text(document: &PdfDocument) -> Result<String, ExtractError> {
    if page_tree::is_not_a_tree(document) {
        return Err(ExtractError::Damaged("its page tree contains itself".to_owned()));
    }
    let claimed = document.page_count().map_err(explain)?;
    if claimed == 0 {
        return Err(ExtractError::Damaged("it has no pages".to_owned()));
    }
    // Each page is an object of its own, so there are no more pages than objects, whatever the file claims.
    let pages = claimed.min(document.all_object_ids().len().max(1));
    let (mut text, mut read, mut unreadable, mut failure) = (String::new(), 0_usize, 0_usize, None);
    for page in 0..pages {
        match document.extract_text(page) {
            Ok(page) => {
                (read, unreadable) = (read + 1, 0);
                append(&mut text, page.trim());
            }
            Err(error) => {
                unreadable += 1;
                failure = failure.or(Some(error));
            }
        }
        if text.len() > MAX_TEXT_BYTES || unreadable == MAX_UNREADABLE_PAGES {
            break;
        }
    }
    match failure {
        Some(error) if read == 0 => Err(explain(error)),
        _ => Ok(text),
    }
}

fn append(text: &mut String, page: &str) {
    if !text.is_empty() && !page.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(page);
}

/// Returns the title in the document's information dictionary (ISO 32000-1, section 14.3.3).
fn title(document: &PdfDocument) -> Option<String> {
    let information = document.resolve_object(document.trailer().as_dict()?.get("Info")?).ok()?;
    let title = document.resolve_object(information.as_dict()?.get("Title")?).ok()?;
    let title = text_string::decode(title.as_string()?);
    let title = title.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

fn explain(error: Error) -> ExtractError {
    match error {
        Error::EncryptedPdf => ExtractError::Encrypted,
        Error::Unsupported(what) | Error::UnsupportedFilter(what) | Error::UnsupportedVersion(what) => {
            ExtractError::Unsupported(what)
        }
        other => ExtractError::Damaged(other.to_string()),
    }
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/current/extractor", world: "extractor" });

    use super::PdfExtractor;
    export!(PdfExtractor);
}
