//! Texts of the outline of a binary presentation (\[MS-PPT\], section 2.4.14.3): titles and bodies of its slides.

/// Type of the record of a whole presentation (section 2.4.1).
const DOCUMENT: u16 = 0x03E8;
/// Type of the list of slides, masters or notes, with their text (section 2.4.14.3).
const LIST_WITH_TEXT: u16 = 0x0FF0;
/// The instance of the list of slides.
const SLIDES: u16 = 0;
/// Type of a text in units of two bytes (section 2.9.42).
const TEXT_CHARS: u16 = 0x0FA0;
/// Type of a text in units of one byte (section 2.9.43).
const TEXT_BYTES: u16 = 0x0FA8;
/// Length of the header of a record, in bytes (section 2.3.1).
const HEADER: usize = 8;

/// Returns the texts of the outline. A presentation that was saved several times has it as often; the last one counts.
pub(super) fn texts(stream: &[u8]) -> Vec<String> {
    let Some(document) = records(stream).filter(|record| record.kind == DOCUMENT).last() else {
        return Vec::new();
    };
    let lists = records(document.data).filter(|it| it.kind == LIST_WITH_TEXT && it.instance == SLIDES);
    lists.flat_map(|list| records(list.data)).filter_map(|record| text(&record)).collect()
}

fn text(record: &Record<'_>) -> Option<String> {
    match record.kind {
        TEXT_CHARS => {
            let units = record.data.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            Some(char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
        }
        TEXT_BYTES => Some(record.data.iter().map(|byte| char::from(*byte)).collect()),
        _ => None,
    }
}

struct Record<'s> {
    kind: u16,
    instance: u16,
    data: &'s [u8],
}

/// The records that follow one another, as far as they are complete.
fn records(mut stream: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (header, rest) = stream.split_first_chunk::<HEADER>()?;
        let [version, version_2, kind, kind_2, length @ ..] = *header;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let data = rest.get(..length)?;
        stream = &rest[length..];
        let instance = u16::from_le_bytes([version, version_2]) >> 4;
        Some(Record { kind: u16::from_le_bytes([kind, kind_2]), instance, data })
    })
}
