//! ZIP archives, of which no more is unpacked than is used. Sizes that an archive declares are not believed.

use std::io::{Cursor, Read, Write};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use zip::result::{ZipError, ZipResult};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::bindings::exports::kitbag::extractor::extraction::ExtractError;

/// Maximum size of one unpacked part, in bytes; what is beyond is not read.
const MAX_PART_BYTES: u64 = 64 << 20;
/// Maximum size of all parts that are unpacked, in bytes: a base, and as much again for each byte of the archive.
const BASE_UNPACKED_BYTES: u64 = 32 << 20;
const UNPACKED_FOR_BYTE: u64 = 64;
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// What a part counts at least, in bytes: a book may name a small one as often as it has room for names.
const MIN_PART_BYTES: u64 = 4 << 10;

/// Maximum length of an XML declaration, in bytes.
const MAX_DECLARATION_BYTES: usize = 256;

/// An open archive.
pub(crate) struct Archive {
    zip: ZipArchive<Cursor<Vec<u8>>>,
    /// Bytes that may be unpacked, and that still may.
    limit: u64,
    left: u64,
    was_cut: bool,
}

impl Archive {
    /// Reads the directory of an archive.
    pub(crate) fn open(file: Vec<u8>) -> Result<Self, ExtractError> {
        let limit = BASE_UNPACKED_BYTES.saturating_add(UNPACKED_FOR_BYTE.saturating_mul(file.len() as u64));
        let limit = limit.min(MAX_UNPACKED_BYTES);
        let zip = ZipArchive::new(Cursor::new(file)).map_err(explain)?;
        Ok(Self { zip, limit, left: limit, was_cut: false })
    }

    /// Returns whether there is a part of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// Returns whether there is a part below this folder, whose name ends with `/`.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        self.zip.file_names_raw().any(|name| name.starts_with(folder.as_bytes()))
    }

    /// Returns the first `limit` names that end so, sorted.
    pub(crate) fn names_ending_with(&self, end: &str, limit: usize) -> Vec<String> {
        let names = self.zip.file_names().filter_map(Result::ok).filter(|name| name.ends_with(end));
        let mut names: Vec<_> = names.take(limit).map(|name| name.into_owned()).collect();
        names.sort();
        names
    }

    /// Unpacks a part of XML, in whatever encoding, as far as the limits permit. Returns `None` if there is none.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        if self.left == 0 {
            self.was_cut = true;
            return Ok(None);
        }
        let limit = self.part_limit().min(self.left);
        let part = match self.zip.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(explain(error)),
        };
        let mut bytes = Vec::new();
        let outcome = part.take(limit).read_to_end(&mut bytes);
        self.count((bytes.len() as u64).max(MIN_PART_BYTES));
        self.was_cut |= bytes.len() as u64 == limit;
        match outcome {
            // What was unpacked of a damaged part is used.
            Err(error) if bytes.is_empty() => Err(explain(ZipError::Io(error))),
            _ => Ok(Some(decode(bytes))),
        }
    }

    /// Bytes that one part may have, so that others can be read after it.
    fn part_limit(&self) -> u64 {
        MAX_PART_BYTES.min(self.limit / 2)
    }

    /// Counts bytes that were made of a part as if they had been unpacked.
    pub(crate) fn count(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// Returns whether more could not be unpacked.
    pub(crate) fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Returns the error of a file of which a part was cut.
    pub(crate) fn excess(&self) -> Option<ExtractError> {
        self.was_cut.then(|| {
            let limit = self.part_limit() >> 20;
            ExtractError::Unsupported(format!("a part of more than {limit} MiB when unpacked"))
        })
    }

    /// Returns the file with other text in these parts, or as it is if it cannot be written.
    pub(crate) fn into_file_with(mut self, parts: &[(String, String)]) -> Cursor<Vec<u8>> {
        match self.with_parts(parts) {
            Ok(file) if !parts.is_empty() => file,
            _ => self.into_file(),
        }
    }

    fn with_parts(&mut self, parts: &[(String, String)]) -> ZipResult<Cursor<Vec<u8>>> {
        let mut file = ZipWriter::new(Cursor::new(Vec::new()));
        for index in 0..self.zip.len() {
            let part = self.zip.by_index_raw(index)?;
            if !parts.iter().any(|(name, _)| part.name().is_ok_and(|it| it == name.as_str())) {
                file.raw_copy_file(part)?;
            }
        }
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, text) in parts {
            file.start_file(name.as_str(), stored)?;
            file.write_all(text.as_bytes())?;
        }
        file.finish()
    }

    /// Returns the file.
    pub(crate) fn into_file(self) -> Cursor<Vec<u8>> {
        let mut file = self.zip.into_inner();
        file.set_position(0);
        file
    }
}

/// Decodes XML (XML 1.0, appendix F): by its mark, by its first characters, and otherwise as it declares.
pub(crate) fn decode(bytes: Vec<u8>) -> String {
    let encoding = match bytes.as_slice() {
        [b'<', 0, ..] => UTF_16LE,
        [0, b'<', ..] => UTF_16BE,
        _ => declared(&bytes).unwrap_or(UTF_8),
    };
    if encoding == UTF_8 && Encoding::for_bom(&bytes).is_none() {
        return String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    }
    encoding.decode(&bytes).0.into_owned()
}

/// The encoding in the declaration: `<?xml version="1.0" encoding="iso-8859-1"?>`. What is valid UTF-8 all the same stays
/// so: books are often converted without it.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    if !bytes.starts_with(b"<?xml") || std::str::from_utf8(bytes).is_ok() {
        return None;
    }
    let declaration = &bytes[..bytes.iter().take(MAX_DECLARATION_BYTES).position(|byte| *byte == b'>')?];
    let at = declaration.windows(8).position(|name| name == b"encoding")?;
    let value = declaration[at + 8..].split(|byte| matches!(byte, b'"' | b'\'')).nth(1)?;
    // A part that is read as bytes is not in units of two.
    Encoding::for_label(value).filter(|encoding| *encoding != UTF_16LE && *encoding != UTF_16BE)
}

fn explain(error: ZipError) -> ExtractError {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            ExtractError::Encrypted
        }
        ZipError::UnsupportedArchive(what) => ExtractError::Unsupported(what.to_owned()),
        ZipError::CompressionMethodNotSupported(method) => {
            ExtractError::Unsupported(format!("compression method {method}"))
        }
        error => ExtractError::Damaged(format!("its archive cannot be unpacked ({error}), or is incomplete")),
    }
}
