//! Cells of workbooks as a program shows them, where `office_oxide` does not: times, durations, given numbers of digits,
//! and the targets of links.

mod biff;
mod cell_format;
mod number_format;

use std::collections::HashMap;

use biff::NumberFormats;
use extractor_text::MAX_TEXT_BYTES;
use number_format::NumberFormat;
use office_oxide::xls::{self, XlsDocument};
use office_oxide::xlsx::cell::CellRef;
use office_oxide::xlsx::{self, HyperlinkTarget, XlsxDocument};

pub(crate) use cell_format::CellFormat;

/// Maximum number of styles whose format is read.
pub(crate) const MAX_FORMATS: usize = 1 << 14;

/// Makes cells of a package show what a program shows.
pub(crate) fn complete_package(book: &mut XlsxDocument) {
    let mut shown = Shown::default();
    let mut sheets = std::mem::take(&mut book.worksheets);
    for sheet in &mut sheets {
        let links = sheet.hyperlinks.iter().filter_map(|link| match &link.target {
            HyperlinkTarget::External(target) => {
                let first = link.cell_ref.split(':').next().unwrap_or_default();
                CellRef::parse(first).map(|cell| ((cell.row, cell.col), &**target))
            }
            HyperlinkTarget::Internal(_) => None,
        });
        let links: HashMap<_, _> = links.collect();
        for cell in sheet.rows.iter_mut().flat_map(|row| &mut row.cells) {
            let number = match (&cell.value, cell.style_index) {
                (xlsx::CellValue::Number(number), Some(style)) => {
                    let code = || book.styles.as_ref()?.number_format_for(style);
                    shown.number(*number, style, code)
                }
                _ => None,
            };
            let computed = cell.formula().and_then(target_in_formula);
            let link = links.get(&(cell.reference.row, cell.reference.col)).copied().or(computed.as_deref());
            let link = link.and_then(|target| {
                shown.link(|| number.clone().unwrap_or_else(|| book.format_cell_value(cell)), target)
            });
            if let Some(text) = link.or(number) {
                cell.value = xlsx::CellValue::String(text);
            }
        }
    }
    book.worksheets = sheets;
}

/// Makes cells of a binary workbook show what a program shows.
pub(crate) fn complete_binary(book: &mut XlsDocument, records: &[u8]) {
    let formats = NumberFormats::read(records);
    let computed = biff::computed_links(records);
    let mut shown = Shown::default();
    for (position, sheet) in book.sheets.iter_mut().enumerate() {
        for comment in &mut sheet.comments {
            comment.author = comment.author.take().filter(|author| !author.trim().is_empty());
        }
        let links = sheet.hyperlinks.iter();
        let links: HashMap<_, _> = links
            .map(|link| ((usize::from(link.row_first), usize::from(link.col_first)), link.target.as_str()))
            .filter(|(_, target)| !target.starts_with('#'))
            .collect();
        for row in 0..sheet.rows.len() {
            for column in 0..sheet.rows[row].len() {
                let style = sheet.xf.get(row).and_then(|row| row.get(column)).copied().unwrap_or_default();
                let number = match sheet.rows[row][column] {
                    xls::CellValue::Number(number) => {
                        shown.number(number, style.into(), || formats.of_style(style))
                    }
                    _ => None,
                };
                let link = links.get(&(row, column)).copied();
                let link = link.or_else(|| Some(&**computed.get(&(position, row, column))?));
                let link = link.and_then(|target| {
                    let displayed = || sheet.display_text(row, column).unwrap_or_default().into_owned();
                    shown.link(|| number.clone().unwrap_or_else(displayed), target)
                });
                if let Some(text) = link.or(number) {
                    sheet.rows[row][column] = xls::CellValue::String(text);
                }
            }
        }
    }
}

/// What was made of the cells of a workbook.
#[derive(Default)]
struct Shown {
    formats: HashMap<u32, Option<NumberFormat>>,
    /// Bytes; what is beyond the text of a document is not made.
    bytes: usize,
}

impl Shown {
    fn number<'c>(
        &mut self,
        number: f64,
        style: u32,
        code: impl FnOnce() -> Option<&'c str>,
    ) -> Option<String> {
        let is_new = !self.formats.contains_key(&style);
        if self.bytes > MAX_TEXT_BYTES || is_new && self.formats.len() >= MAX_FORMATS {
            return None;
        }
        let format = self.formats.entry(style).or_insert_with(|| code().map(NumberFormat::compile));
        let text = format.as_ref()?.show(number)?;
        self.bytes += text.len();
        Some(text)
    }

    /// The text of a cell with the target of its link. What `text` copies counts, also where the target is not told.
    fn link(&mut self, text: impl FnOnce() -> String, target: &str) -> Option<String> {
        if self.bytes > MAX_TEXT_BYTES {
            return None;
        }
        let text = text();
        self.bytes += text.len();
        let target = target_of(&text, target)?;
        let text = format!("{}{target}", text.trim_end());
        self.bytes += target.len();
        Some(text)
    }
}

/// Returns the target of a link in brackets, unless its text is the target already.
pub(crate) fn target_of(text: &str, target: &str) -> Option<String> {
    let address = target.strip_prefix("mailto:").unwrap_or(target);
    let address = address.split_once("://").map_or(address, |(_, address)| address).trim_end_matches('/');
    let is_told = address.is_empty() || text.contains(address);
    (!is_told).then(|| format!(" ({target})"))
}

/// Returns the target that a formula gives to `HYPERLINK`, unless it is computed or in the workbook.
pub(crate) fn target_in_formula(formula: &str) -> Option<String> {
    const FUNCTION: &str = "HYPERLINK(";
    let at = formula.to_ascii_uppercase().find(FUNCTION)? + FUNCTION.len();
    let mut rest = formula[at..].trim_start().strip_prefix('"')?;
    let mut target = String::new();
    loop {
        let (piece, after) = rest.split_once('"')?;
        target.push_str(piece);
        match after.strip_prefix('"') {
            // Two quotes stand for one.
            Some(after) => {
                target.push('"');
                rest = after;
            }
            None => {
                let is_whole = after.trim_start().starts_with([',', ';', ')']);
                return Some(target).filter(|target| is_whole && !target.starts_with('#'));
            }
        }
    }
}
