//! Extracts the text of PDF files: the characters with their places by an interpreter of pages, and the reading order by
//! a layout of our own. Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

mod annotations;
mod characters;
mod collector;
mod columns;
mod direction;
mod layout;
mod lines;
mod text_string;
mod title;

use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use collector::Collector;
use extractor_text::{MAX_TEXT_BYTES, cut};
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret_page};

/// What programs show of a page whose area is empty.
const US_LETTER: Rect = Rect::new(0.0, 0.0, 612.0, 792.0);

/// The extractor for PDF files.
pub struct PdfExtractor;

impl Guest for PdfExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        // Many files are encrypted with an empty password: they can be read, but printing may be restricted.
        let document = Pdf::new(file).map_err(explain)?;
        if document.pages().is_empty() {
            return Err(ExtractError::Damaged("it has no pages".to_owned()));
        }
        let (text, unknown) = text(&document);
        if text.trim().is_empty() && unknown > 0 {
            let what = "fonts that do not say which characters they show, so that its text cannot be told";
            return Err(ExtractError::Unsupported(what.to_owned()));
        }
        let (text, truncated) = cut(&text);
        Ok(Extracted { title: title::read(&document), text, truncated })
    }
}

/// Reads pages until the text is long enough. Also returns how many glyphs stand for nobody knows what.
fn text(document: &Pdf) -> (String, usize) {
    let cache = InterpreterCache::new();
    let (mut text, mut unknown) = (String::new(), 0);
    let mut fonts = characters::Fonts::default();
    for page in document.pages().iter() {
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
        let mut collector = Collector::new(bounds(page), &mut fonts);
        let mut context = Context::new(
            Affine::IDENTITY,
            bounds(page),
            &cache,
            document.xref(),
            InterpreterSettings::default(),
        );
        interpret_page(page, &mut context, &mut collector);
        unknown += collector.unknown;
        let shown = layout::write(collector.glyphs);
        let annotations = annotations::read(page, &shown);
        append(&mut text, &shown);
        append(&mut text, &annotations);
    }
    (text, unknown)
}

fn bounds(page: &Page<'_>) -> Rect {
    let area = page.intersected_crop_box();
    let area = Rect::new(area.x0, area.y0, area.x1, area.y1);
    if area.is_zero_area() { US_LETTER } else { area }
}

fn append(text: &mut String, page: &str) {
    if !text.is_empty() && !page.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(page);
}

fn explain(error: LoadPdfError) -> ExtractError {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => ExtractError::Encrypted,
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => {
            ExtractError::Unsupported("an encryption of another kind than those of PDF".to_owned())
        }
        LoadPdfError::Decryption(error) => ExtractError::Damaged(format!("its encryption: {error:?}")),
        LoadPdfError::Invalid => ExtractError::Damaged("it has no table of objects, or no pages".to_owned()),
    }
}

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/current/extractor", world: "extractor" });

    use super::PdfExtractor;
    export!(PdfExtractor);
}
