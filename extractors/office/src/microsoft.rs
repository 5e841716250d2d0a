//! Documents of Microsoft Office: packages of XML (ISO 29500-2), and the binary files before them.

use std::io::{self, Cursor, Write};

use encoding_rs::{BIG5, EUC_KR, GBK, SHIFT_JIS};
use extractor_text::{MAX_TEXT_BYTES, cut};
use office_oxide::cfb::{CfbReader, read_document_properties};
use office_oxide::core::Error;
use office_oxide::core::properties::CoreProperties;
use office_oxide::doc::DocError;
use office_oxide::docx::DocxError;
use office_oxide::options::ParseOptions;
use office_oxide::ppt::{PptDocument, PptError};
use office_oxide::pptx::PptxError;
use office_oxide::xls::{XlsDocument, XlsError};
use office_oxide::xlsx::{XlsxDocument, XlsxError};
use office_oxide::{Document, DocumentFormat, OfficeError};

use crate::archive::Archive;
use crate::bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted};
use crate::{ruby, slides, workbook};

/// Folders of the parts of a package, by its kind.
const FOLDERS: [(&str, DocumentFormat); 3] =
    [("word/", DocumentFormat::Docx), ("xl/", DocumentFormat::Xlsx), ("ppt/", DocumentFormat::Pptx)];
/// Streams of a binary file, by its kind.
const STREAMS: [(&str, DocumentFormat); 4] = [
    ("WordDocument", DocumentFormat::Doc),
    (BIFF8, DocumentFormat::Xls),
    ("Book", DocumentFormat::Xls),
    (PRESENTATION, DocumentFormat::Ppt),
];
/// The stream of a workbook since Excel 97.
const BIFF8: &str = "Workbook";
/// The stream of a presentation.
const PRESENTATION: &str = "PowerPoint Document";
/// The stream with a package that needs a password (\[MS-OFFCRYPTO\], section 2.3.4.4).
const ENCRYPTED_PACKAGE: &str = "EncryptedPackage";
/// The stream with the properties of a document (\[MS-OLEPS\], section 2.25).
const SUMMARY_INFORMATION: &str = "\u{5}SummaryInformation";
/// Where the offset of the first set of properties is (\[MS-OLEPS\], section 2.21).
const FIRST_SET: usize = 44;
/// Number of the property with the code page of the others (\[MS-OLEPS\], section 2.18.2).
const CODE_PAGE: u32 = 1;
/// Maximum number of properties that are looked at.
const MAX_PROPERTIES: usize = 256;
/// Maximum size of a package when unpacked, in bytes.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// Maximum number of characters that are made of a document, before empty cells are left out.
const MAX_TEXT_CHARS: usize = 64 << 20;
/// The longest character in UTF-8.
const CHARACTER_BYTES: usize = 4;

/// Reads a package.
pub(crate) fn read_package(mut archive: Archive) -> Result<Extracted, ExtractError> {
    // Fails where the parts of the archive need a password.
    archive.text("[Content_Types].xml")?;
    let format = FOLDERS.into_iter().find(|(folder, _)| archive.has_folder(folder));
    let Some((_, format)) = format else {
        return Err(ExtractError::Damaged("it is an archive that holds no document".to_owned()));
    };
    if format == DocumentFormat::Xlsx {
        return read_workbook(archive.into_file());
    }
    let changed = if format == DocumentFormat::Docx { ruby::unwrapped(&mut archive) } else { Vec::new() };
    read(archive.into_file_with(&changed), format, None)
}

fn read_workbook(file: Cursor<Vec<u8>>) -> Result<Extracted, ExtractError> {
    options().limits.apply();
    let mut book = XlsxDocument::from_reader(file).map_err(|error| explain(error.into()))?;
    workbook::complete_package(&mut book);
    let title = book.core_properties.as_ref().and_then(|properties| properties.title.clone());
    Ok(extracted(title, |text| book.write_plain_text(text)))
}

/// Reads a binary file.
pub(crate) fn read_compound(file: Vec<u8>) -> Result<Extracted, ExtractError> {
    let mut file = Cursor::new(file);
    let mut compound = CfbReader::new(&mut file).map_err(|error| ExtractError::Damaged(error.to_string()))?;
    if compound.has_stream(ENCRYPTED_PACKAGE) {
        return Err(ExtractError::Encrypted);
    }
    let format = STREAMS.into_iter().find(|(stream, _)| compound.has_stream(stream));
    if format.is_none() && compound.entries().len() < 2 {
        return Err(ExtractError::Damaged("it is incomplete: its directory is empty".to_owned()));
    }
    let Some((_, format)) = format else {
        let what = "a file of another program than Word, Excel or PowerPoint";
        return Err(ExtractError::Unsupported(what.to_owned()));
    };
    let title = title(&mut compound);
    let mut stream = |name| compound.open_stream(name).unwrap_or_default();
    let records = match format {
        DocumentFormat::Xls => stream(BIFF8),
        DocumentFormat::Ppt => stream(PRESENTATION),
        _ => Vec::new(),
    };
    file.set_position(0);
    match format {
        DocumentFormat::Xls => read_binary_workbook(file, title, &records),
        DocumentFormat::Ppt => read_binary_presentation(file, title, &records),
        _ => read(file, format, title),
    }
}

/// Returns the title in the properties, of which `office_oxide` reads those in code pages of East Asia byte by byte.
fn title(compound: &mut CfbReader<&mut Cursor<Vec<u8>>>) -> Option<String> {
    let title = read_document_properties(compound)?.title?;
    let encoding = match code_page(&compound.open_stream(SUMMARY_INFORMATION).unwrap_or_default()) {
        Some(932) => SHIFT_JIS,
        Some(936) => GBK,
        Some(949) => EUC_KR,
        Some(950) => BIG5,
        _ => return Some(title),
    };
    let bytes: Option<Vec<u8>> = title.chars().map(|character| u8::try_from(character).ok()).collect();
    Some(bytes.map_or(title, |bytes| encoding.decode_without_bom_handling(&bytes).0.into_owned()))
}

fn code_page(information: &[u8]) -> Option<u32> {
    // Also as an offset.
    let number = |bytes: &[u8], at: usize| {
        let number = bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)?;
        usize::try_from(number).ok().map(|offset| (number, offset))
    };
    let set = information.get(number(information, FIRST_SET)?.1..)?;
    let count = number(set, 4)?.1.min(MAX_PROPERTIES);
    let mut places = (0..count).map(|property| 8 + 8 * property);
    let place = places.find(|place| number(set, *place).is_some_and(|(id, _)| id == CODE_PAGE))?;
    // After its type, in units of four bytes.
    Some(number(set, number(set, place + 4)?.1.checked_add(4)?)?.0 & 0xFFFF)
}

fn read_binary_presentation(
    file: Cursor<Vec<u8>>,
    title: Option<String>,
    stream: &[u8],
) -> Result<Extracted, ExtractError> {
    options().limits.apply();
    let deck = PptDocument::from_reader(file).map_err(|error| explain(error.into()))?;
    let (text, truncated) = slides::read(&deck, stream).finish();
    Ok(Extracted { title: extractor_text::own_title(&title.unwrap_or_default()), text, truncated })
}

fn read_binary_workbook(
    file: Cursor<Vec<u8>>,
    title: Option<String>,
    records: &[u8],
) -> Result<Extracted, ExtractError> {
    options().limits.apply();
    let mut book = XlsDocument::from_reader(file).map_err(|error| explain(error.into()))?;
    workbook::complete_binary(&mut book, records);
    Ok(extracted(title, |text| text.write_all(book.plain_text().as_bytes())))
}

fn read(
    file: Cursor<Vec<u8>>,
    format: DocumentFormat,
    title: Option<String>,
) -> Result<Extracted, ExtractError> {
    let document = Document::from_reader_with(file, format, &options()).map_err(explain)?;
    let title = title.or_else(|| properties(&document)?.title.clone());
    Ok(extracted(title, |text| document.write_plain_text(text)))
}

fn options() -> ParseOptions {
    let mut options = ParseOptions::default();
    options.limits.package_bytes = MAX_UNPACKED_BYTES;
    options.limits.part_bytes = MAX_UNPACKED_BYTES;
    options.limits.memory_bytes = MAX_UNPACKED_BYTES;
    // Much of it may be tabs.
    options.limits.text_chars = MAX_TEXT_CHARS;
    options
}

/// Returns what `write` writes, as far as it is used.
fn extracted(title: Option<String>, write: impl FnOnce(&mut Beginning) -> io::Result<()>) -> Extracted {
    let mut text = Beginning::default();
    // Fails where there is more text than is used.
    drop(write(&mut text));
    let (text, truncated) = cut(&String::from_utf8_lossy(&text.0));
    Extracted { title: extractor_text::own_title(&title.unwrap_or_default()), text, truncated }
}

fn properties(document: &Document) -> Option<&CoreProperties> {
    let of_text = document.as_docx().and_then(|it| it.core_properties.as_ref());
    let of_slides = document.as_pptx().and_then(|it| it.core_properties.as_ref());
    of_text.or(of_slides)
}

/// The beginning of a text: somewhat more than [`MAX_TEXT_BYTES`]. A row has a tab for each empty cell before one that is
/// not, and an empty line for each empty row; here each is one, or none.
#[derive(Default)]
struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            let is_repeated = match byte {
                b'\t' => matches!(self.0.last(), None | Some(b'\t' | b'\n')),
                b'\n' => self.0.ends_with(b"\n\n"),
                _ => false,
            };
            if is_repeated {
                continue;
            }
            if self.0.len() > MAX_TEXT_BYTES + CHARACTER_BYTES {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.0.push(*byte);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn explain(error: OfficeError) -> ExtractError {
    match error {
        OfficeError::Doc(DocError::Encrypted)
        | OfficeError::Xls(XlsError::Encrypted | XlsError::EncryptionNotSupported(_))
        | OfficeError::Ppt(PptError::Encrypted) => ExtractError::Encrypted,
        OfficeError::UnsupportedFormat(what) => ExtractError::Unsupported(what),
        OfficeError::Core(error)
        | OfficeError::Docx(DocxError::Core(error))
        | OfficeError::Xlsx(XlsxError::Core(error))
        | OfficeError::Pptx(PptxError::Core(error)) => explain_package(&error),
        error => ExtractError::Damaged(error.to_string()),
    }
}

fn explain_package(error: &Error) -> ExtractError {
    match error {
        Error::PackageLimit(_) | Error::DecompressionLimit { .. } => {
            ExtractError::Unsupported(format!("more than {} MiB when unpacked", MAX_UNPACKED_BYTES >> 20))
        }
        Error::Unsupported(what) => ExtractError::Unsupported(what.clone()),
        error => ExtractError::Damaged(error.to_string()),
    }
}
