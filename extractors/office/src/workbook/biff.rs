//! Records of a binary workbook (\[MS-XLS\]): number formats, which of them each style has, and links that are formulas.

use std::collections::HashMap;

use office_oxide::xlsx::numfmt::builtin_format_code;

/// Type of the record with a format (section 2.4.126).
const FORMAT: u16 = 0x041E;
/// Type of the record with a style of cells (section 2.4.353).
const XF: u16 = 0x00E0;
/// Type of the record that ends the part for the whole workbook (section 2.4.103).
const EOF: u16 = 0x000A;
/// Type of the record with the place of a sheet (section 2.4.28).
const BOUND_SHEET: u16 = 0x0085;
/// Type of the record with a formula (section 2.4.127).
const FORMULA: u16 = 0x0006;
/// Length of the type and the length of a record, in bytes.
const RECORD_HEADER: usize = 4;
/// Where the tokens of a formula begin, after their length.
const TOKENS: usize = 22;
/// Token of a literal string (section 2.5.198.89).
const STRING: u8 = 0x17;
/// Tokens of a function with any number of parameters, by the class of its result (section 2.5.198.63).
const FUNCTIONS: [u8; 3] = [0x22, 0x42, 0x62];
/// Number of the function `HYPERLINK` (section 2.5.198.17).
const HYPERLINK: u16 = 0x0167;
/// Maximum number of formats and of styles. Excel has 65,490 styles at most.
const MAX_STYLES: usize = 1 << 16;
/// Maximum number of links that are formulas.
const MAX_LINKS: usize = 1 << 16;
/// Bit of a string in units of two bytes (section 2.5.294).
const IS_WIDE: u8 = 1;

/// Formats of a workbook.
#[derive(Default)]
pub(super) struct NumberFormats {
    codes: HashMap<u16, String>,
    /// The number of the format of each style.
    styles: Vec<u16>,
}

impl NumberFormats {
    /// Reads the formats in the stream of a workbook.
    pub(super) fn read(stream: &[u8]) -> Self {
        let mut formats = Self::default();
        for (record, data) in records(stream) {
            match record {
                FORMAT if formats.codes.len() < MAX_STYLES => formats.codes.extend(format(data)),
                XF if formats.styles.len() < MAX_STYLES => formats.styles.extend(number_at(data, 2)),
                EOF => break,
                _ => {}
            }
        }
        formats
    }

    pub(super) fn of_style(&self, style: u16) -> Option<&str> {
        let format = self.styles.get(usize::from(style))?;
        self.codes.get(format).map(String::as_str).or_else(|| builtin_format_code(u32::from(*format)))
    }
}

/// Returns the targets of `HYPERLINK` formulas by sheet, row and column. Only those that begin with their target, as a
/// string, and end with the function have one.
pub(super) fn computed_links(stream: &[u8]) -> HashMap<(usize, usize, usize), String> {
    let mut links = HashMap::new();
    // Several sheets may claim the same place: as many records are looked at as the stream can have.
    let mut left = stream.len() / RECORD_HEADER;
    let globals = records(stream).take_while(|(record, _)| *record != EOF);
    let sheets = globals.filter(|(record, _)| *record == BOUND_SHEET).map(|(_, data)| offset(data));
    for (sheet, offset) in sheets.enumerate() {
        let of_sheet = offset.and_then(|offset| stream.get(offset..)).unwrap_or_default();
        for (record, data) in records(of_sheet).take_while(|(record, _)| *record != EOF) {
            if left == 0 || links.len() >= MAX_LINKS {
                return links;
            }
            left -= 1;
            let place = number_at(data, 0).zip(number_at(data, 2));
            if let Some(((row, column), target)) = place.zip(target(data)).filter(|_| record == FORMULA) {
                links.insert((sheet, row.into(), column.into()), target);
            }
        }
    }
    links
}

/// Where a sheet begins in the stream.
fn offset(sheet: &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*sheet.first_chunk()?)).ok()
}

fn target(formula: &[u8]) -> Option<String> {
    let length = usize::from(number_at(formula, TOKENS - 2)?);
    let tokens = formula.get(TOKENS..TOKENS + length)?;
    let (function, parameters) = tokens.split_last_chunk::<4>().map(|(rest, last)| (last, rest))?;
    let is_link = FUNCTIONS.contains(&function[0]) && number_at(function, 2) == Some(HYPERLINK);
    let [STRING, count, flags, text @ ..] = parameters else { return None };
    let target = string(text, usize::from(*count), *flags)?;
    (is_link && !target.starts_with('#')).then_some(target)
}

/// The records of a stream, as far as it is regular.
fn records(mut stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (record, data, after) = next(stream)?;
        stream = after;
        Some((record, data))
    })
}

/// The type and the data of the first record, and what comes after it.
fn next(stream: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let record = number_at(stream, 0)?;
    let length = number_at(stream, 2)?;
    let end = RECORD_HEADER + usize::from(length);
    Some((record, stream.get(RECORD_HEADER..end)?, &stream[end..]))
}

fn format(data: &[u8]) -> Option<(u16, String)> {
    let format = number_at(data, 0)?;
    let length = usize::from(number_at(data, 2)?);
    Some((format, string(data.get(5..)?, length, *data.get(4)?)?))
}

/// A string of so many characters (section 2.5.294).
fn string(text: &[u8], length: usize, flags: u8) -> Option<String> {
    if flags & IS_WIDE == 0 {
        return Some(text.get(..length)?.iter().map(|byte| char::from(*byte)).collect());
    }
    let pairs = text.get(..2 * length)?.chunks_exact(2);
    let units: Vec<_> = pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    Some(String::from_utf16_lossy(&units))
}

fn number_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*data.get(at)?, *data.get(at + 1)?]))
}
