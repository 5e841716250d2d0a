//! Formats of cells that are known by name or code, in a document that has both.

use office_oxide::xlsx::numfmt::apply_format;

use super::number_format::{MAX_CODE_BYTES, NumberFormat};

/// A number that no format has that is built into a program.
const CUSTOM: u32 = 164;
/// Codes of formats with a name.
const NAMED: [(&str, &str); 9] = [
    ("Short Time", "h:mm"),
    ("Medium Time", "h:mm"),
    ("Long Time", "h:mm:ss"),
    ("General Date", "yyyy-mm-dd h:mm"),
    ("Percent", "0.00%"),
    ("Fixed", "0.00"),
    ("Standard", "#,##0.00"),
    ("Currency", "#,##0.00"),
    ("Scientific", "0.00E+00"),
];

/// The format of a cell.
pub(crate) struct CellFormat {
    code: String,
    format: NumberFormat,
}

impl CellFormat {
    /// Reads a format, which is a code or a name.
    pub(crate) fn compile(code: &str) -> Self {
        let code = NAMED.into_iter().find(|(name, _)| *name == code).map_or(code, |(_, code)| code);
        // It is read again for each cell.
        let code = if code.len() > MAX_CODE_BYTES { "General" } else { code };
        Self { code: code.to_owned(), format: NumberFormat::compile(code) }
    }

    /// Returns what is shown of a number.
    pub(crate) fn show(&self, number: f64) -> String {
        self.format.show(number).unwrap_or_else(|| apply_format(number, CUSTOM, Some(&self.code)))
    }

    /// Returns what is shown of a number of days, unless that is a date.
    pub(crate) fn show_time(&self, days: f64) -> Option<String> {
        self.format.show(days)
    }
}
