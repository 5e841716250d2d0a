//! Text strings of PDF (ISO 32000-2, section 7.9.2.2): UTF-16 or UTF-8 with a byte order mark, and otherwise
//! PDFDocEncoding.

/// Decodes a text string. PDFDocEncoding is decoded as Latin-1, from which it differs in a few rare
/// characters.
pub(crate) fn decode(bytes: &[u8]) -> String {
    match bytes {
        [0xFE, 0xFF, utf16 @ ..] => decode_utf16(utf16, u16::from_be_bytes),
        [0xFF, 0xFE, utf16 @ ..] => decode_utf16(utf16, u16::from_le_bytes),
        [0xEF, 0xBB, 0xBF, utf8 @ ..] => String::from_utf8_lossy(utf8).into_owned(),
        latin1 => latin1.iter().copied().map(char::from).collect(),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}
