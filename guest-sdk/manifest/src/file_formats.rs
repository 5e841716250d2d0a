//! File formats that the knowledge base knows, by media type and file extension. A new format is a row of [`FORMATS`]
//! and whatever reads its text.

/// A file format.
#[derive(Debug)]
pub struct FileFormat {
    /// Media type, in lower case.
    pub media_type: &'static str,
    /// File extensions in lower case, the usual one first.
    pub extensions: &'static [&'static str],
    /// Method of reading its text.
    pub reading: Reading,
}

/// Method of reading the text of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// By a parser, in the sandbox.
    Parsed(FileKind),
    /// The bytes are text.
    Text,
    /// Transcription of speech.
    Audio,
    /// None.
    Unread,
}

/// Kinds of files that are parsed inside the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// `application/pdf`
    Pdf,
    /// `text/html`, converted to UTF-8.
    Html,
    /// Office documents, e-books and notebooks.
    Office,
    /// `message/rfc822`
    Mail,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Pdf, Self::Html, Self::Office, Self::Mail];
}

/// Media types that are named elsewhere too.
pub const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
/// A workbook in a package.
pub const EXCEL: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/// A presentation in a package.
pub const POWERPOINT: &str = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
/// A workbook in a compound file.
pub const BINARY_EXCEL: &str = "application/vnd.ms-excel";
/// Rich Text Format, which is plain text to other readers.
pub const RTF: &str = "application/rtf";
/// A Jupyter notebook, which is JSON to other readers.
pub const NOTEBOOK: &str = "application/x-ipynb+json";
/// An e-mail message.
pub const MESSAGE: &str = "message/rfc822";

const OFFICE: Reading = Reading::Parsed(FileKind::Office);

/// All formats. Of several rows with an extension, the first is the format of files with that extension.
pub static FORMATS: [FileFormat; 35] = [
    format("application/pdf", &["pdf"], Reading::Parsed(FileKind::Pdf)),
    format("text/html", &["html", "htm", "xhtml"], Reading::Parsed(FileKind::Html)),
    format("application/xhtml+xml", &["html"], Reading::Parsed(FileKind::Html)),
    format(MESSAGE, &["eml", "mbox"], Reading::Parsed(FileKind::Mail)),
    format(WORD, &["docx", "docm", "dotx", "dotm"], OFFICE),
    format(EXCEL, &["xlsx", "xlsm", "xltx", "xltm", "xlsb"], OFFICE),
    format(POWERPOINT, &["pptx", "pptm", "ppsx", "ppsm", "potx", "potm"], OFFICE),
    format("application/vnd.oasis.opendocument.text", &["odt", "ott"], OFFICE),
    format("application/vnd.oasis.opendocument.spreadsheet", &["ods", "ots"], OFFICE),
    format("application/vnd.oasis.opendocument.presentation", &["odp", "otp"], OFFICE),
    format("application/vnd.oasis.opendocument.graphics", &["odg", "otg"], OFFICE),
    format("application/epub+zip", &["epub"], OFFICE),
    format("application/msword", &["doc", "dot"], OFFICE),
    format(BINARY_EXCEL, &["xls", "xlt"], OFFICE),
    format("application/vnd.ms-powerpoint", &["ppt", "pps", "pot"], OFFICE),
    format(RTF, &["rtf"], OFFICE),
    format(NOTEBOOK, &["ipynb"], OFFICE),
    format("text/plain", &["txt"], Reading::Text),
    format("text/markdown", &["md"], Reading::Text),
    format("text/csv", &["csv"], Reading::Text),
    format("text/tab-separated-values", &["tsv"], Reading::Text),
    format("text/xml", &["xml"], Reading::Text),
    format("application/json", &["json"], Reading::Text),
    format("audio/mpeg", &["mp3"], Reading::Audio),
    format("audio/wav", &["wav"], Reading::Audio),
    format("audio/x-wav", &["wav"], Reading::Audio),
    format("audio/ogg", &["ogg", "oga", "opus"], Reading::Audio),
    format("audio/flac", &["flac"], Reading::Audio),
    format("audio/x-flac", &["flac"], Reading::Audio),
    format("audio/aac", &["aac"], Reading::Audio),
    format("audio/mp4", &["m4a"], Reading::Audio),
    format("audio/webm", &["weba"], Reading::Audio),
    format("application/zip", &["zip"], Reading::Unread),
    format("image/png", &["png"], Reading::Unread),
    format("image/jpeg", &["jpg"], Reading::Unread),
];

const fn format(
    media_type: &'static str,
    extensions: &'static [&'static str],
    reading: Reading,
) -> FileFormat {
    FileFormat { media_type, extensions, reading }
}

/// Returns the format of a media type without parameters.
pub fn of(media_type: &str) -> Option<&'static FileFormat> {
    FORMATS.iter().find(|format| format.media_type == media_type)
}

/// Returns the format of files with an extension, in lower case.
pub fn of_extension(extension: &str) -> Option<&'static FileFormat> {
    FORMATS.iter().find(|format| format.extensions.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_has_one_row_and_an_extension_one_reading() {
        for format in &FORMATS {
            assert!(std::ptr::eq(of(format.media_type).expect("it is there"), format), "{format:?}");
            assert_eq!(format.media_type, format.media_type.to_lowercase());
            for extension in format.extensions {
                assert_eq!(
                    of_extension(extension).expect("it is there").reading,
                    format.reading,
                    "{extension}"
                );
            }
        }
        assert!(of("").is_none() && of_extension("").is_none());
    }
}
