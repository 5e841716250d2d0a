//! Number formats of a binary workbook (\[MS-XLS\]): the formats, and which of them each style has.

use std::collections::HashMap;

use office_oxide::xlsx::numfmt::builtin_format_code;

/// Type of the record with a format (section 2.4.126).
const FORMAT: u16 = 0x041E;
/// Type of the record with a style of cells (section 2.4.353).
const XF: u16 = 0x00E0;
/// Type of the record that ends the part for the whole workbook (section 2.4.103).
const EOF: u16 = 0x000A;
/// Maximum number of formats and of styles. Excel has 65,490 styles at most.
const MAX_STYLES: usize = 1 << 16;
/// Bit of a string in units of two bytes (section 2.5.294).
const IS_WIDE: u8 = 1;

/// Formats of a workbook.
#[derive(Default)]
pub(crate) struct NumberFormats {
    codes: HashMap<u16, String>,
    /// The number of the format of each style.
    styles: Vec<u16>,
}

impl NumberFormats {
    /// Reads the formats in the stream of a workbook, as far as it is regular.
    pub(crate) fn read(stream: &[u8]) -> Self {
        let (mut formats, mut rest) = (Self::default(), stream);
        while let Some((record, data, after)) = next(rest) {
            rest = after;
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

/// The type and the data of the first record, and what comes after it.
fn next(stream: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (record, length) = (number_at(stream, 0)?, number_at(stream, 2)?);
    let end = 4 + usize::from(length);
    Some((record, stream.get(4..end)?, &stream[end..]))
}

fn format(data: &[u8]) -> Option<(u16, String)> {
    let (format, length) = (number_at(data, 0)?, usize::from(number_at(data, 2)?));
    let (flags, text) = (*data.get(4)?, data.get(5..)?);
    let code = if flags & IS_WIDE == 0 {
        text.get(..length)?.iter().map(|byte| char::from(*byte)).collect()
    } else {
        let units: Vec<_> = text
            .get(..2 * length)?
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        String::from_utf16_lossy(&units)
    };
    Some((format, code))
}

fn number_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*data.get(at)?, *data.get(at + 1)?]))
}
