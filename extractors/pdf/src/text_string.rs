//! Text strings of PDF (ISO 32000-2, section 7.9.2.2): UTF-16 or UTF-8 with a byte order mark, and otherwise
//! PDFDocEncoding.

/// Decodes a text string.
pub(crate) fn decode(bytes: &[u8]) -> String {
    match bytes {
        [0xFE, 0xFF, utf16 @ ..] => decode_utf16(utf16, u16::from_be_bytes),
        [0xFF, 0xFE, utf16 @ ..] => decode_utf16(utf16, u16::from_le_bytes),
        [0xEF, 0xBB, 0xBF, utf8 @ ..] => String::from_utf8_lossy(utf8).into_owned(),
        // Not allowed, and frequent. Other text is hardly ever valid UTF-8 by chance.
        _ if !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok() => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        other => other.iter().map(|byte| pdf_doc_encoding(*byte)).collect(),
    }
}

/// A character of PDFDocEncoding (ISO 32000-2, annex D.3), which is Latin-1 but for these.
fn pdf_doc_encoding(byte: u8) -> char {
    const ACCENTS: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
    const SYMBOLS: [char; 33] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ',
        'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{FFFD}', '€',
    ];
    match byte {
        0x18..=0x1F => ACCENTS[usize::from(byte - 0x18)],
        0x80..=0xA0 => SYMBOLS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}
