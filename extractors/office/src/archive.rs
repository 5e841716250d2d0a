//! ZIP archives, of which no more is unpacked than is used. Sizes that an archive declares are not believed.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::bindings::exports::kitbag::extractor::extraction::ExtractError;

/// Maximum size of one unpacked part, in bytes; what is beyond is not read.
const MAX_PART_BYTES: u64 = 64 << 20;
/// Maximum size of all parts that are unpacked, in bytes.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;

/// An open archive.
pub(crate) struct Archive {
    zip: ZipArchive<Cursor<Vec<u8>>>,
    /// Bytes that may still be unpacked.
    left: u64,
    was_cut: bool,
}

impl Archive {
    /// Reads the directory of an archive.
    pub(crate) fn open(file: Vec<u8>) -> Result<Self, ExtractError> {
        let zip = ZipArchive::new(Cursor::new(file)).map_err(explain)?;
        Ok(Self { zip, left: MAX_UNPACKED_BYTES, was_cut: false })
    }

    /// Returns whether there is a part of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    /// Returns whether there is a part below this folder, whose name ends with `/`.
    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        self.zip.file_names_raw().any(|name| name.starts_with(folder.as_bytes()))
    }

    /// Unpacks a part of text in UTF-8 or UTF-16 as far as the limits permit. Returns `None` if there is none.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        let part = match self.zip.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(explain(error)),
        };
        let limit = MAX_PART_BYTES.min(self.left);
        let mut bytes = Vec::new();
        let outcome = part.take(limit).read_to_end(&mut bytes);
        self.left -= bytes.len() as u64;
        self.was_cut |= bytes.len() as u64 == limit;
        match outcome {
            // What was unpacked of a damaged part is used.
            Err(error) if bytes.is_empty() => Err(explain(ZipError::Io(error))),
            _ => Ok(Some(decode(bytes))),
        }
    }

    /// Returns whether more could not be unpacked.
    pub(crate) fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Returns the error of a file of which a part was cut.
    pub(crate) fn excess(&self) -> Option<ExtractError> {
        self.was_cut.then(|| {
            ExtractError::Unsupported(format!(
                "a part of more than {} MiB when unpacked",
                MAX_PART_BYTES >> 20
            ))
        })
    }

    /// Returns the file.
    pub(crate) fn into_file(self) -> Cursor<Vec<u8>> {
        let mut file = self.zip.into_inner();
        file.set_position(0);
        file
    }
}

fn decode(bytes: Vec<u8>) -> String {
    match bytes.as_slice() {
        [0xFE, 0xFF, utf16 @ ..] => decode_utf16(utf16, u16::from_be_bytes),
        [0xFF, 0xFE, utf16 @ ..] => decode_utf16(utf16, u16::from_le_bytes),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
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
