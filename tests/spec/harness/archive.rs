//! Documents that are ZIP archives (APPNOTE.TXT), regular and hostile; and those in `tests/documents`.

use std::collections::HashSet;
use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::root;

/// XML namespaces of the documents, which readers may require.
const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const OFFICE: &str = "urn:oasis:names:tc:opendocument:xmlns:office:1.0";
const TEXT: &str = "urn:oasis:names:tc:opendocument:xmlns:text:1.0";

/// Reads a file of `tests/documents`, written by a library.
pub(crate) fn of_library(name: &str) -> Vec<u8> {
    std::fs::read(root().join("tests/documents").join(name)).expect("the document is in the repository")
}

/// Creates an archive with these parts.
pub(crate) fn of(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).expect("a name");
        archive.write_all(content.as_bytes()).expect("it is in memory");
    }
    archive.finish().expect("it is in memory").into_inner()
}

/// Creates a DOCX file; `declaration` precedes the root element, which contains `body`.
pub(crate) fn docx(declaration: &str, body: &str) -> Vec<u8> {
    of(&[
        (
            "[Content_Types].xml",
            "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default \
             Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
             <Override PartName=\"/word/document.xml\" ContentType=\"application/vnd.openxmlformats-\
             officedocument.wordprocessingml.document.main+xml\"/></Types>",
        ),
        (
            "_rels/.rels",
            "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship \
             Id=\"r1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" \
             Target=\"word/document.xml\"/></Relationships>",
        ),
        (
            "word/document.xml",
            &format!("{declaration}<w:document xmlns:w=\"{WORD}\"><w:body>{body}</w:body></w:document>"),
        ),
    ])
}

/// A paragraph of a DOCX file.
pub(crate) fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

/// Creates an XLSX file with these rows and one shared string.
pub(crate) fn xlsx(shared: &str, rows: &str) -> Vec<u8> {
    workbook(shared, rows, &[], &[])
}

/// Creates an XLSX file of formatted numbers, one per row. The first cells have hyperlinks.
pub(crate) fn xlsx_of_numbers(cells: &[(f64, &str)], links: &[&str]) -> Vec<u8> {
    let formats: Vec<_> = cells.iter().map(|(_, format)| *format).collect();
    let rows = cells.iter().enumerate();
    let rows: Vec<_> = rows
        .map(|(at, (number, _))| format!("<row><c r=\"A{}\" s=\"{at}\"><v>{number}</v></c></row>", at + 1))
        .collect();
    workbook("", &rows.concat(), &formats, links)
}

/// Creates an XLSX file with one style per format, and one hyperlink per row in its first cell.
fn workbook(shared: &str, rows: &str, formats: &[&str], links: &[&str]) -> Vec<u8> {
    const TYPES: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    const RELATION: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";

    let concat = |parts: Vec<String>| parts.concat();
    let number_formats = concat(
        (164..)
            .zip(formats)
            .map(|(id, code)| {
                let code = code.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
                format!("<numFmt numFmtId=\"{id}\" formatCode=\"{code}\"/>")
            })
            .collect(),
    );
    let styles = concat((164..).zip(formats).map(|(id, _)| format!("<xf numFmtId=\"{id}\"/>")).collect());
    let targets = concat(
        links.iter().enumerate().map(|(at, link)| {
            format!(
                "<Relationship Id=\"l{at}\" Type=\"{RELATION}/hyperlink\" Target=\"{link}\" TargetMode=\"External\"/>"
            )
        }).collect(),
    );
    let hyperlinks = concat(
        (0..links.len()).map(|at| format!("<hyperlink ref=\"A{}\" r:id=\"l{at}\"/>", at + 1)).collect(),
    );

    of(&[
        (
            "[Content_Types].xml",
            &format!(
                "<Types xmlns=\"{PACKAGE}/content-types\"><Default Extension=\"rels\" \
                 ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
                 <Override PartName=\"/xl/workbook.xml\" ContentType=\"{TYPES}.sheet.main+xml\"/>\
                 <Override PartName=\"/xl/styles.xml\" ContentType=\"{TYPES}.styles+xml\"/>\
                 <Override PartName=\"/xl/sheet.xml\" ContentType=\"{TYPES}.worksheet+xml\"/>\
                 <Override PartName=\"/xl/sharedStrings.xml\" ContentType=\"{TYPES}.sharedStrings+xml\"/></Types>"
            ),
        ),
        (
            "_rels/.rels",
            &format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" \
                 Type=\"{RELATION}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            &format!(
                "<workbook xmlns=\"{SHEET}\" xmlns:r=\"{RELATION}\"><sheets><sheet name=\"Sheet\" sheetId=\"1\" \
                 r:id=\"r1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" \
                 Type=\"{RELATION}/worksheet\" Target=\"sheet.xml\"/><Relationship Id=\"r2\" \
                 Type=\"{RELATION}/sharedStrings\" Target=\"sharedStrings.xml\"/><Relationship Id=\"r3\" \
                 Type=\"{RELATION}/styles\" Target=\"styles.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/styles.xml",
            &format!(
                "<styleSheet xmlns=\"{SHEET}\"><numFmts>{number_formats}</numFmts><cellXfs>{styles}</cellXfs></styleSheet>"
            ),
        ),
        (
            "xl/_rels/sheet.xml.rels",
            &format!("<Relationships xmlns=\"{PACKAGE}/relationships\">{targets}</Relationships>"),
        ),
        ("xl/sharedStrings.xml", &format!("<sst xmlns=\"{SHEET}\"><si><t>{shared}</t></si></sst>")),
        (
            "xl/sheet.xml",
            &format!(
                "<worksheet xmlns=\"{SHEET}\" xmlns:r=\"{RELATION}\"><sheetData>{rows}</sheetData>\
                 <hyperlinks>{hyperlinks}</hyperlinks></worksheet>"
            ),
        ),
    ])
}

/// Creates an ODT file; `declaration` precedes the root element, which contains `body`.
pub(crate) fn odt(declaration: &str, body: &str) -> Vec<u8> {
    of(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        (
            "content.xml",
            &format!(
                "{declaration}<office:document-content xmlns:office=\"{OFFICE}\" xmlns:text=\"{TEXT}\"><office:body>\
                 <office:text>{body}</office:text></office:body></office:document-content>"
            ),
        ),
    ])
}

/// Creates an ODS file with one row of these cells.
pub(crate) fn ods(cells: &str) -> Vec<u8> {
    let row = format!("<table:table><table:table-row>{cells}</table:table-row></table:table>");
    of(&[
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        (
            "content.xml",
            &format!(
                "<office:document-content xmlns:office=\"{OFFICE}\" xmlns:text=\"{TEXT}\" \
                 xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" \
                 xmlns:xlink=\"http://www.w3.org/1999/xlink\"><office:body><office:spreadsheet>{row}\
                 </office:spreadsheet></office:body></office:document-content>"
            ),
        ),
    ])
}

/// Creates an EPUB file with chapters at these paths, relative to a folder of the archive, and with other
/// parts.
pub(crate) fn epub(chapters: &[(&str, &str)], others: &[(&str, &str)]) -> Vec<u8> {
    let numbered = || chapters.iter().enumerate();
    let items: String = numbered()
        .map(|(number, (path, _))| format!("<item id=\"c{number}\" href=\"{path}\"/>"))
        .collect::<Vec<_>>()
        .concat();
    let spine: String =
        numbered().map(|(number, _)| format!("<itemref idref=\"c{number}\"/>")).collect::<Vec<_>>().concat();
    let package = format!("<package><manifest>{items}</manifest><spine>{spine}</spine></package>");
    let paths: Vec<_> = chapters.iter().map(|(path, _)| format!("in/{path}")).collect();
    let mut parts = vec![
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", "<container><rootfile full-path=\"in/book.opf\"/></container>"),
        ("in/book.opf", package.as_str()),
    ];
    parts.extend(paths.iter().zip(chapters).map(|(path, (_, content))| (path.as_str(), *content)));
    let mut names = HashSet::new();
    parts.retain(|(name, _)| names.insert(*name));
    parts.extend(others);
    of(&parts)
}

/// Changes the declared uncompressed size of all parts.
pub(crate) fn claiming_size(mut archive: Vec<u8>, size: u32) -> Vec<u8> {
    change_headers(&mut archive, 22, 24, |field| field[..4].copy_from_slice(&size.to_le_bytes()));
    archive
}

/// Marks all parts as encrypted.
pub(crate) fn claiming_encryption(mut archive: Vec<u8>) -> Vec<u8> {
    change_headers(&mut archive, 6, 8, |field| field[0] |= 1);
    archive
}

/// Changes a field of each header, at the offset `local` in local file headers and `central` in central
/// directory headers.
fn change_headers(archive: &mut [u8], local: usize, central: usize, change: impl Fn(&mut [u8])) {
    for at in 0..archive.len() - 4 {
        match &archive[at..at + 4] {
            b"PK\x03\x04" => change(&mut archive[at + local..]),
            b"PK\x01\x02" => change(&mut archive[at + central..]),
            _ => {}
        }
    }
}
