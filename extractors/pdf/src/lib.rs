//! Extracts the text of PDF files: the characters with their places by an interpreter of pages, and the reading order by
//! a layout of our own. Compiled for WebAssembly only.
#![cfg(target_family = "wasm")]

mod annotations;
mod budget;
mod characters;
mod collector;
mod columns;
mod direction;
mod layout;
mod lines;
mod text_string;
mod title;

use bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted, Guest};
use budget::{Budget, Extent};
use collector::Collector;
use extractor_text::{MAX_TEXT_BYTES, cut};
use hayro_interpret::hayro_syntax::object::Dict;
use hayro_interpret::hayro_syntax::page::{Page, Resources};
use hayro_interpret::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret, interpret_page};

/// What programs show of a page whose area is empty.
const US_LETTER: Rect = Rect::new(0.0, 0.0, 612.0, 792.0);

/// The extractor for PDF files.
pub struct PdfExtractor;

impl Guest for PdfExtractor {
    fn extract(file: Vec<u8>) -> Result<Extracted, ExtractError> {
        // Many files are encrypted with an empty password: they can be read, but printing may be restricted.
        let bytes = file.len();
        let document = Pdf::new(file).map_err(explain)?;
        if document.pages().is_empty() {
            return Err(ExtractError::Damaged("it has no pages".to_owned()));
        }
        let Read { text, unknown, is_whole } = read(&document, bytes);
        if text.trim().is_empty() && unknown > 0 {
            let what = "fonts that do not say which characters they show, so that its text cannot be told";
            return Err(ExtractError::Unsupported(what.to_owned()));
        }
        if text.trim().is_empty() && !is_whole {
            let what =
                "pages that draw the same again and again, which takes too long for a file of its size";
            return Err(ExtractError::Unsupported(what.to_owned()));
        }
        let (text, was_cut) = cut(&text);
        let truncated = was_cut || !is_whole;
        Ok(Extracted { title: title::read(&document), text, truncated })
    }
}

/// What was read of the pages.
struct Read {
    text: String,
    /// How many glyphs stand for nobody knows what.
    unknown: usize,
    /// Whether all that the pages draw was read, apart from what is too long.
    is_whole: bool,
}

/// Reads pages of a file of this many bytes, until the text is long enough or the work is too much.
fn read(document: &Pdf, bytes: usize) -> Read {
    let cache = InterpreterCache::new();
    let mut text = String::new();
    let mut unknown = 0;
    let mut is_whole = true;
    let mut fonts = characters::Fonts::default();
    let mut budget = Budget::of(bytes);
    for (number, page) in document.pages().iter().enumerate() {
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
        let extent = budget.take(page, number);
        is_whole &= extent == Extent::Whole;
        if extent == Extent::Nothing {
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
        if extent == Extent::Whole {
            interpret_page(page, &mut context, &mut collector);
        } else {
            let resources = Resources { x_objects: Dict::empty(), ..page.resources().clone() };
            interpret(page.typed_operations(), &resources, &mut context, &mut collector);
        }
        unknown += collector.unknown;
        let shown = layout::write(collector.glyphs);
        let annotations = annotations::read(page, &shown);
        append(&mut text, &shown);
        append(&mut text, &annotations);
    }
    Read { text, unknown, is_whole }
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
