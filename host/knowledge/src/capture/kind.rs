//! Detection of file types from bytes (WHATWG MIME Sniffing Standard for text and HTML, `infer` for
//! everything with a signature). The sender's claims choose among kinds of text and of documents, and decide
//! whether an audio/video container is treated as audio.

mod documents;

use kitbag_manifest::file_formats::{self, FileKind, MESSAGE, RTF, Reading};
use kitbag_manifest::media_type::without_parameters;

use super::text::{Markup, Wide};

/// Claims of a file's sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Label<'a> {
    /// Media type, including parameters.
    pub(super) media_type: Option<&'a str>,
    /// File name.
    pub(super) name: Option<&'a str>,
}

/// Method of reading a file's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text extraction by a parser, in the sandbox.
    Parsed(FileKind),
    /// Decoding of the bytes as text.
    Text,
    /// Transcription of speech.
    Audio,
    /// No method: the file type is not supported.
    Other,
}

/// Media type of files about which nothing is known.
const UNKNOWN: &str = "application/octet-stream";
/// Bytes in which the signature of a PDF file may begin: readers have always searched the first kibibyte.
const PDF_HEADER: usize = 1024;

impl Kind {
    /// `media_type` is a result of [`media_type`]; `claimed_type` is the sender's claim.
    pub(super) fn of(media_type: &str, claimed_type: Option<&str>) -> Self {
        let is_for_listening = || claimed_type.is_some_and(|it| plain_type(it).starts_with("audio/"));
        match file_formats::of(media_type).map(|format| format.reading) {
            Some(Reading::Parsed(kind)) => return Self::Parsed(kind),
            Some(Reading::Text) => return Self::Text,
            _ => {}
        }
        match media_type {
            "video/webm" | "video/mp4" if is_for_listening() => Self::Audio,
            _ if media_type.starts_with("text/") => Self::Text,
            _ if media_type.starts_with("audio/") && media_type != "audio/midi" => Self::Audio,
            _ => Self::Other,
        }
    }
}

/// Whether a media type is informative: many servers send these two for every file they do not know.
pub(super) fn is_telling(media_type: &str) -> bool {
    !matches!(plain_type(media_type).as_str(), "" | UNKNOWN | "binary/octet-stream")
}

/// Detects the media type from the first bytes of a file.
pub(super) fn media_type(head: &[u8], label: &Label<'_>) -> String {
    let claimed = label.media_type.map(plain_type).unwrap_or_default();
    let extension = label.name.and_then(|name| name.rsplit_once('.')).map(|(_, it)| it.to_ascii_lowercase());
    let extension = extension.unwrap_or_default();

    if head.starts_with(b"{\\rtf") {
        return RTF.to_owned();
    }
    if head.starts_with(b"%PDF-") {
        return "application/pdf".to_owned();
    }
    if documents::is_message(head, &claimed, &extension) {
        return MESSAGE.to_owned();
    }
    if is_text(head) || Wide::detect(head).is_some() {
        if let Some(document) = documents::of_text(head, &claimed, &extension) {
            return document.to_owned();
        }
        return kind_of_text(head, &claimed, &extension).to_owned();
    }
    let first = &head[..head.len().min(PDF_HEADER)];
    if first.windows(5).any(|bytes| bytes == b"%PDF-") {
        return "application/pdf".to_owned();
    }
    if let Some(document) = documents::media_type(head, &claimed, &extension) {
        return document.to_owned();
    }
    match infer::get(head).map(|it| it.mime_type()) {
        Some("audio/x-wav") => "audio/wav".to_owned(),
        Some("audio/x-flac") => "audio/flac".to_owned(),
        Some("audio/m4a") => "audio/mp4".to_owned(),
        Some("audio/opus" | "application/ogg") => "audio/ogg".to_owned(),
        // `infer` already reports a document for an archive that has a folder of such a name.
        Some(known) if documents::is_document(known) && head.starts_with(b"PK") => {
            "application/zip".to_owned()
        }
        Some(known) if !known.starts_with("text/") => known.to_owned(),
        _ if let Some(known) = signed(head) => known.to_owned(),
        // MPEG audio may begin with any frame, whose signature is too short to be reliable.
        _ if claimed == "audio/mpeg" && is_mpeg_audio(head) => claimed,
        _ if is_nearly_text(head) => kind_of_text(head, &claimed, &extension).to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

fn kind_of_text(head: &[u8], claimed: &str, extension: &str) -> &'static str {
    let is_markdown = claimed.contains("markdown") || matches!(extension, "md" | "markdown");
    let is_page = matches!(claimed, "text/html" | "application/xhtml+xml");
    if MARKUP_SOURCES.contains(&extension) && !is_page {
        return "text/plain";
    }
    // Markdown may begin with an HTML tag.
    if begins_with_tag(head, if is_markdown { &PAGE } else { &HTML }) {
        return "text/html";
    }
    match (claimed, extension) {
        _ if is_markdown => "text/markdown",
        _ if is_page => "text/html",
        _ if let Some(markup) = Markup::of_file(extension, head) => markup.media_type(),
        ("text/csv" | "application/csv", _) | (_, "csv") => "text/csv",
        (json, _) if json == "application/json" || json.ends_with("+json") => "application/json",
        (_, "json") => "application/json",
        (_, "html" | "htm" | "xhtml") => "text/html",
        _ if serde_json::from_slice::<serde::de::IgnoredAny>(head).is_ok() && is_structure(head) => {
            "application/json"
        }
        _ => "text/plain",
    }
}

/// Extensions of source files that may begin like HTML; read as text, so that nothing in them is dropped as a
/// script.
const MARKUP_SOURCES: [&str; 16] = [
    "astro", "cshtml", "ejs", "erb", "hbs", "jsp", "jsx", "php", "plist", "svelte", "svg", "tsx", "vue",
    "xml", "xsd", "xsl",
];

/// Whether the bytes contain no binary data byte (MIME Sniffing Standard, section 7.2).
fn is_text(head: &[u8]) -> bool {
    let is_binary = |byte: &u8| matches!(byte, 0x00..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    let has_mark = [&b"\xEF\xBB\xBF"[..], b"\xFE\xFF", b"\xFF\xFE"].iter().any(|mark| head.starts_with(mark));
    has_mark || !head.iter().any(is_binary)
}

/// Whether the bytes are text apart from a few control characters: those for terminals and printers, and the
/// end-of-file mark of DOS. A zero byte never occurs in text of single-byte units.
fn is_nearly_text(head: &[u8]) -> bool {
    let is_stray = |byte: &&u8| matches!(byte, 0x01..=0x07 | 0x0E..=0x19 | 0x1C..=0x1F | 0x7F);
    let is_backspace = |byte: &&u8| matches!(byte, 0x08);
    let strays = head.iter().filter(is_stray).count();
    let backspaces = head.iter().filter(is_backspace).count();
    !head.contains(&0) && strays * BYTES_PER_STRAY <= head.len() && backspaces * 2 <= head.len()
}

/// Media type by signature, for formats that `infer` does not know.
fn signed(head: &[u8]) -> Option<&'static str> {
    let found = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature));
    found.map(|(_, media_type)| *media_type)
}

/// Signatures of formats for which the failure reason names the program.
const SIGNATURES: [(&[u8], &str); 5] = [
    (b"\xFFWPC", "application/vnd.wordperfect"),
    // First record of a worksheet before Excel 5, which is not a compound file ([XLS], section 5.8).
    (b"\x09\x00\x04\x00", OLD_WORKSHEET),
    (b"\x09\x02\x06\x00", OLD_WORKSHEET),
    (b"\x09\x04\x06\x00", OLD_WORKSHEET),
    (b"\x31\xBE\x00\x00", "application/x-mswrite"),
];
const OLD_WORKSHEET: &str = "application/x-excel-4";
/// Text may have one stray control character per this many bytes.
const BYTES_PER_STRAY: usize = 100;

/// Returns why a file of [`Kind::Other`] is not read, and what may help.
pub(super) fn why_unread(media_type: &str) -> String {
    const NO_TEXT: &str = "only its title is found";
    let (what, advice) = match media_type {
        "application/vnd.wordperfect" => ("a WordPerfect document", "save it as DOCX, ODT or PDF"),
        OLD_WORKSHEET => ("a worksheet of Excel 4 or older", "save it as XLSX"),
        "application/x-mswrite" => ("a document of Write", "save it as DOCX, ODT or PDF"),
        _ if media_type.starts_with("image/") => ("a picture", "only the words of its title are found"),
        _ if media_type.starts_with("video/") => ("a video", "ingest its sound as an audio file"),
        "application/zip"
        | "application/gzip"
        | "application/x-tar"
        | "application/x-7z-compressed"
        | "application/vnd.rar"
        | "application/x-bzip2"
        | "application/x-xz"
        | "application/zstd" => ("an archive", "unpack it, and ingest the files that are in it"),
        UNKNOWN => {
            let reason =
                "it is neither text nor of another kind that can be read: its bytes have no known signature";
            return format!("the file was kept, but {reason}");
        }
        _ => ("a file", NO_TEXT),
    };
    format!("the file was kept, but it is {what} ({media_type}), which cannot be read: {advice}")
}

/// Tags that always mark an HTML page, even in Markdown files.
const PAGE: [&str; 5] = ["!doctype html", "html", "head", "body", "script"];

/// Tags at the beginning of HTML (MIME Sniffing Standard, section 7.1).
const HTML: [&str; 17] = [
    "!doctype html",
    "html",
    "head",
    "script",
    "iframe",
    "h1",
    "div",
    "font",
    "table",
    "a",
    "style",
    "title",
    "b",
    "body",
    "br",
    "p",
    "!--",
];

/// Whether the bytes begin with one of these tags. Works for UTF-16 too.
fn begins_with_tag(head: &[u8], tags: &[&str]) -> bool {
    let text: Vec<u8> = head.iter().copied().filter(|byte| byte.is_ascii() && *byte != 0).take(512).collect();
    let text = text.trim_ascii_start().to_ascii_lowercase();
    // The XML declaration of XHTML precedes its first tag.
    let text = match text.strip_prefix(b"<?xml") {
        Some(rest) => rest.splitn(2, |byte| *byte == b'>').nth(1).unwrap_or_default().trim_ascii_start(),
        None => &text[..],
    };
    let Some(tag) = text.strip_prefix(b"<") else { return false };
    tags.iter().any(|name| {
        let rest = tag.strip_prefix(name.as_bytes());
        rest.is_some_and(|rest| {
            *name == "!--"
                || matches!(rest.first(), None | Some(b' ' | b'>' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/'))
        })
    })
}

/// Whether the JSON value is an object or an array: a lone number or word is text.
fn is_structure(head: &[u8]) -> bool {
    matches!(head.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Whether the bytes begin with the 11 set bits of an MPEG audio frame (ISO 11172-3, section 2.4.1.3).
fn is_mpeg_audio(head: &[u8]) -> bool {
    matches!(head, [0xFF, second, ..] if second & 0xE0 == 0xE0)
}

/// `Text/HTML; charset=utf-8` → `text/html`; empty for an invalid media type.
fn plain_type(media_type: &str) -> String {
    without_parameters(media_type).map(|it| it.essence_str().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
