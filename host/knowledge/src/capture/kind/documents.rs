//! Office documents, e-books, notebooks and e-mail messages. Most document archives name their type at the
//! beginning; for others the sender's claim is used, and the extractor refuses the file if the claim is
//! wrong.

use kitbag_manifest::file_formats::{
    self, BINARY_EXCEL, EXCEL, FORMATS, FileFormat, FileKind, MESSAGE, NOTEBOOK, POWERPOINT, RTF, Reading,
    WORD,
};

/// Folders in a Microsoft Office package that tell its type.
const FOLDERS: [(&[u8], &str); 3] = [(b"word/", WORD), (b"xl/", EXCEL), (b"ppt/", POWERPOINT)];

/// Namespace of a workbook in a single XML file.
const WORKBOOK: &str = "urn:schemas-microsoft-com:office:spreadsheet";
/// Bytes in which the first tag is searched.
const TAG_BYTES: usize = 4 << 10;
/// Longest field name in a message header, in bytes.
const MAX_FIELD_NAME: usize = 76;

const ZIP: &[u8] = b"PK\x03\x04";
/// Bytes of a ZIP local file header before the name (APPNOTE.TXT, section 4.3.7).
const ZIP_HEADER: usize = 30;
const COMPOUND_FILE: &[u8] = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1";

/// Whether this is the media type of an office document, an e-book or a notebook.
pub(super) fn is_document(media_type: &str) -> bool {
    file_formats::of(media_type).is_some_and(|format| format.reading == Reading::Parsed(FileKind::Office))
}

/// Formats of documents that are archives or compound files.
fn containers() -> impl Iterator<Item = &'static FileFormat> {
    FORMATS.iter().filter(|it| is_document(it.media_type) && ![RTF, NOTEBOOK].contains(&it.media_type))
}

/// Media type of a document that is stored as text: a notebook (by its label), or a workbook in a single XML
/// file.
pub(super) fn of_text(head: &[u8], claimed: &str, extension: &str) -> Option<&'static str> {
    // Removing zero bytes makes UTF-16 readable.
    let text: Vec<u8> = head.iter().copied().filter(|byte| *byte != 0).take(TAG_BYTES).collect();
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_start_matches(|it: char| !it.is_ascii() || it.is_whitespace());
    if text.starts_with('{') && (claimed == NOTEBOOK || extension == "ipynb") {
        return Some(NOTEBOOK);
    }
    let tag = first_tag(text)?;
    let name = tag.split(|it: char| it.is_whitespace()).next()?;
    (name.rsplit(':').next() == Some("Workbook") && tag.contains(WORKBOOK)).then_some(BINARY_EXCEL)
}

/// First tag of an XML text, after declarations, processing instructions and comments.
fn first_tag(mut text: &str) -> Option<&str> {
    loop {
        let (inside, after) = text.strip_prefix('<')?.split_once('>')?;
        if !inside.starts_with(['?', '!']) {
            return Some(inside);
        }
        text = after.trim_start();
    }
}

/// Media type of a document, from its first bytes or else from its label.
pub(super) fn media_type(head: &[u8], claimed: &str, extension: &str) -> Option<&'static str> {
    if head.starts_with(ZIP) {
        return first_entry(head).or_else(|| package(head)).or_else(|| labelled(claimed, extension));
    }
    // A package with a password is a compound file, too.
    head.starts_with(COMPOUND_FILE).then(|| labelled(claimed, extension)).flatten()
}

/// Whether the label says that the bytes are an e-mail message, and they begin with a header field (RFC 5322,
/// section 2.2). A byte order mark, blank lines and the separator line of a mailbox may precede it.
pub(super) fn is_message(head: &[u8], claimed: &str, extension: &str) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let is_in_mailbox = head.starts_with(b"From ") || head.starts_with(b">From ");
    let first = head.iter().position(|byte| *byte == b'\n').filter(|_| is_in_mailbox);
    let head = first.map_or(head, |end| &head[end + 1..]);
    let name = head.iter().take(MAX_FIELD_NAME + 1).position(|byte| *byte == b':').unwrap_or_default();
    let is_named = || file_formats::of_extension(extension).is_some_and(|it| it.media_type == MESSAGE);
    let is_labelled = claimed == MESSAGE || is_named();
    is_labelled && name > 0 && head[..name].iter().all(|byte| matches!(byte, b'!'..=b'~'))
}

fn labelled(claimed: &str, extension: &str) -> Option<&'static str> {
    let found = containers().find(|format| format.media_type == claimed);
    let found = found.or_else(|| containers().find(|format| format.extensions.contains(&extension)));
    found.map(|format| format.media_type)
}

/// Media type named by the first entry: `OpenDocument` (part 2, section 3.3) and EPUB (3.3, section 4.2.6.1).
fn first_entry(head: &[u8]) -> Option<&'static str> {
    let entry = ZipEntry::at(head, 0)?;
    let content = head.get(entry.content..)?;
    let named = containers().find(|format| content.starts_with(format.media_type.as_bytes()));
    named.filter(|_| entry.name == b"mimetype").map(|format| format.media_type)
}

/// Type of a Microsoft Office package (ISO 29500-2), by the names of its parts.
fn package(head: &[u8]) -> Option<&'static str> {
    let mut is_package = false;
    let mut found = None;
    let mut at = 0;
    while let Some(entry) = ZipEntry::at(head, at) {
        is_package |= entry.name == b"[Content_Types].xml" || entry.name == b"_rels/.rels";
        is_package |= entry.name.starts_with(b"docProps/");
        let folder = FOLDERS.iter().find(|(folder, _)| entry.name.starts_with(folder));
        found = found.or(folder.map(|(_, media_type)| *media_type));
        if is_package && found.is_some() {
            return found;
        }
        at = entry.next?;
    }
    None
}

/// ZIP local file header.
struct ZipEntry<'a> {
    name: &'a [u8],
    content: usize,
    /// Offset of the next header; `None` if that is beyond the examined bytes.
    next: Option<usize>,
}

impl<'a> ZipEntry<'a> {
    fn at(head: &'a [u8], at: usize) -> Option<Self> {
        let header = head.get(at..)?.get(..ZIP_HEADER).filter(|header| header.starts_with(ZIP))?;
        let number = |from: usize| usize::from(u16::from_le_bytes([header[from], header[from + 1]]));
        let size = u32::from_le_bytes([header[18], header[19], header[20], header[21]]);
        let name_end = at + ZIP_HEADER + number(26);
        let content = name_end + number(28);
        // For an entry that was written as a stream, the size follows the data.
        let is_stream = number(6) & 8 != 0;
        let next = if is_stream {
            let rest = head.get(content..)?;
            rest.windows(ZIP.len()).position(|bytes| bytes == ZIP).map(|found| content + found)
        } else {
            usize::try_from(size).ok().and_then(|size| content.checked_add(size))
        };
        Some(Self { name: head.get(at + ZIP_HEADER..name_end)?, content, next })
    }
}
