//! What a file is: read from its bytes (WHATWG MIME Sniffing Standard for text and HTML, `infer` for
//! everything with a signature). What its sender says chooses among kinds of text and of documents, and whether a
//! container of sound and pictures is meant for listening.

mod documents;

use kitbag_manifest::media_type::without_parameters;

use super::FileKind;
use super::text::{Markup, Wide};

/// What a file's sender says about it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Label<'a> {
    /// Media type, parameters and all.
    pub(super) media_type: Option<&'a str>,
    /// File name.
    pub(super) name: Option<&'a str>,
}

/// How a file becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Parsed by an extractor, in the sandbox.
    Parsed(FileKind),
    /// Decoded as text.
    Text,
    /// Transcribed.
    Audio,
    /// It is of no kind that is read.
    Other,
}

/// Nothing is known about such a file.
const UNKNOWN: &str = "application/octet-stream";
/// Where a signature may stand in a PDF file: readers have always looked at its first kibibyte.
const PDF_HEADER: usize = 1024;

impl Kind {
    /// `media_type` is what [`media_type`] returned; `claimed_type` is what was said about the file.
    pub(super) fn of(media_type: &str, claimed_type: Option<&str>) -> Self {
        let is_for_listening = || claimed_type.is_some_and(|it| plain_type(it).starts_with("audio/"));
        match media_type {
            "application/pdf" => Self::Parsed(FileKind::Pdf),
            "text/html" => Self::Parsed(FileKind::Html),
            documents::MESSAGE => Self::Parsed(FileKind::Mail),
            "application/json" => Self::Text,
            _ if documents::is_document(media_type) => Self::Parsed(FileKind::Office),
            "video/webm" | "video/mp4" if is_for_listening() => Self::Audio,
            _ if media_type.starts_with("text/") => Self::Text,
            _ if media_type.starts_with("audio/") && media_type != "audio/midi" => Self::Audio,
            _ => Self::Other,
        }
    }
}

/// Whether a media type says anything: many servers send these two for whatever they do not know.
pub(super) fn is_telling(media_type: &str) -> bool {
    !matches!(plain_type(media_type).as_str(), "" | UNKNOWN | "binary/octet-stream")
}

/// Reads the media type from how a file begins.
pub(super) fn media_type(head: &[u8], label: &Label<'_>) -> String {
    let claimed = label.media_type.map(plain_type).unwrap_or_default();
    let extension = label.name.and_then(|name| name.rsplit_once('.')).map(|(_, it)| it.to_ascii_lowercase());
    let extension = extension.unwrap_or_default();

    if head.starts_with(b"{\\rtf") {
        return documents::RTF.to_owned();
    }
    if head.starts_with(b"%PDF-") {
        return "application/pdf".to_owned();
    }
    if documents::is_message(head, &claimed, &extension) {
        return documents::MESSAGE.to_owned();
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
        // A folder of such a name is enough for `infer`.
        Some(known) if documents::is_document(known) && head.starts_with(b"PK") => {
            "application/zip".to_owned()
        }
        Some(known) if !known.starts_with("text/") => known.to_owned(),
        _ if let Some(known) = signed(head) => known.to_owned(),
        // A stream of MPEG audio may begin with any frame, and its signature is too short to be sure.
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
    // Markdown may begin with a tag of HTML.
    if begins_with_tag(head, if is_markdown { &PAGE } else { &HTML }) {
        return "text/html";
    }
    match (claimed, extension) {
        _ if is_markdown => "text/markdown",
        _ if is_page => "text/html",
        _ if let Some(markup) = Markup::of_extension(extension) => markup.media_type(),
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

/// Extensions of sources that may begin like HTML: none of what they say may be dropped as a script.
const MARKUP_SOURCES: [&str; 16] = [
    "astro", "cshtml", "ejs", "erb", "hbs", "jsp", "jsx", "php", "plist", "svelte", "svg", "tsx", "vue",
    "xml", "xsd", "xsl",
];

/// Whether there is no byte that text never has (MIME Sniffing Standard, section 7.2).
fn is_text(head: &[u8]) -> bool {
    let is_binary = |byte: &u8| matches!(byte, 0x00..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    let has_mark = [&b"\xEF\xBB\xBF"[..], b"\xFE\xFF", b"\xFF\xFE"].iter().any(|mark| head.starts_with(mark));
    has_mark || !head.iter().any(is_binary)
}

/// Whether it is text but for few control characters: those that terminals and printers obey, and the one that ends a
/// text of DOS. No text in units of bytes has a zero.
fn is_nearly_text(head: &[u8]) -> bool {
    let is_stray = |byte: &&u8| matches!(byte, 0x01..=0x07 | 0x0E..=0x19 | 0x1C..=0x1F | 0x7F);
    let is_backspace = |byte: &&u8| matches!(byte, 0x08);
    let (strays, backspaces) =
        (head.iter().filter(is_stray).count(), head.iter().filter(is_backspace).count());
    !head.contains(&0) && strays * BYTES_PER_STRAY <= head.len() && backspaces * 2 <= head.len()
}

/// The type of files that `infer` does not know, by their signature.
fn signed(head: &[u8]) -> Option<&'static str> {
    let found = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature));
    found.map(|(_, media_type)| *media_type)
}

/// Signatures of formats of which the reason should name the program.
const SIGNATURES: [(&[u8], &str); 5] = [
    (b"\xFFWPC", "application/vnd.wordperfect"),
    // The first record of a worksheet before Excel 5, which is no compound file ([XLS], section 5.8).
    (b"\x09\x00\x04\x00", OLD_WORKSHEET),
    (b"\x09\x02\x06\x00", OLD_WORKSHEET),
    (b"\x09\x04\x06\x00", OLD_WORKSHEET),
    (b"\x31\xBE\x00\x00", "application/x-mswrite"),
];
const OLD_WORKSHEET: &str = "application/x-excel-4";
/// Text may have one stray control character for so many bytes.
const BYTES_PER_STRAY: usize = 100;

/// Says why a file of [`Kind::Other`] is not read, and what may help.
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

/// What a page begins with, whatever is in it.
const PAGE: [&str; 5] = ["!doctype html", "html", "head", "body", "script"];

/// What HTML begins with (MIME Sniffing Standard, section 7.1).
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

/// Whether one of these tags stands first. UTF-16 is seen through.
fn begins_with_tag(head: &[u8], tags: &[&str]) -> bool {
    let text: Vec<u8> = head.iter().copied().filter(|byte| byte.is_ascii() && *byte != 0).take(512).collect();
    let text = text.trim_ascii_start().to_ascii_lowercase();
    // The declaration of XHTML comes before its first tag.
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

/// Whether it is an object or an array: a lone number or word is text.
fn is_structure(head: &[u8]) -> bool {
    matches!(head.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Eleven bits that are set begin a frame (ISO 11172-3, section 2.4.1.3).
fn is_mpeg_audio(head: &[u8]) -> bool {
    matches!(head, [0xFF, second, ..] if second & 0xE0 == 0xE0)
}

/// `Text/HTML; charset=utf-8` → `text/html`; empty where it is no media type.
fn plain_type(media_type: &str) -> String {
    without_parameters(media_type).map(|it| it.essence_str().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
