//! PDF files, regular and hostile (ISO 32000-1, section 7.5).

use std::fmt::Write as _;

use super::gzip;

/// Creates a PDF file with a title and one page per text.
pub(crate) fn with_pages(title: &str, pages: &[&str]) -> Vec<u8> {
    let first = 4;
    let kids: Vec<_> = (0..pages.len()).map(|page| format!("{} 0 R", first + 2 * page)).collect();
    let mut objects = vec![
        object("<< /Type /Catalog /Pages 2 0 R >>"),
        object(&format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len())),
        object(&format!("<< /Title ({title}) >>")),
    ];
    for (page, text) in pages.iter().enumerate() {
        objects.push(page_object(first + 2 * page + 1));
        objects.push(stream("", lines(text).as_bytes()));
    }
    file(&objects, "/Info 3 0 R")
}

/// Creates one page with this content, and with additional entries in the page and information dictionaries.
pub(crate) fn with_content(content: &str, page: &str, information: &str) -> Vec<u8> {
    let mut objects = objects_of("");
    objects[2] = object(&format!("<< {information} >>"));
    let described = String::from_utf8(std::mem::take(&mut objects[3])).expect("it is text");
    objects[3] = object(&described.replacen("<< /Type /Page ", &format!("<< /Type /Page {page} "), 1));
    objects[4] = stream("", content.as_bytes());
    file(&objects, "/Info 3 0 R")
}

/// Creates one page with these entries and this content. Further streams, with their entries, are objects
/// from number 6.
pub(crate) fn with_streams(page: &str, content: &str, streams: &[(&str, &str)]) -> Vec<u8> {
    let mut objects = objects_of("");
    objects[3] = object(&format!("<< /Type /Page /Parent 2 0 R /Contents 5 0 R {page} >>"));
    objects[4] = stream("", content.as_bytes());
    objects.extend(streams.iter().map(|(entries, data)| stream(entries, data.as_bytes())));
    file(&objects, "")
}

/// Creates one page whose content stream has an indirect object as its filter.
pub(crate) fn with_indirect_filter(filter: &str, text: &str) -> Vec<u8> {
    let mut objects = objects_of("");
    objects[4] = stream("/Filter 6 0 R", format!("{}>", hex::encode(lines(text))).as_bytes());
    objects.push(object(filter));
    file(&objects, "")
}

/// Content operators that show each text at its own position.
pub(crate) fn placed(size: u32, texts: &[(f64, f64, &str)]) -> String {
    let shown: Vec<_> = texts.iter().map(|(x, y, text)| format!("1 0 0 1 {x} {y} Tm ({text}) Tj")).collect();
    format!("BT /F1 {size} Tf {} ET", shown.join(" "))
}

/// Creates one page whose compressed content is `matches` × 258 spaces.
pub(crate) fn flate_bomb(matches: usize) -> Vec<u8> {
    let content = stream("/Filter /FlateDecode", &gzip::zlib(b' ', matches));
    one_page(content)
}

/// Creates one page whose content has three decompression filters. The output of the first one is 1 GB of
/// zeros.
pub(crate) fn bomb_of_bombs() -> Vec<u8> {
    one_page(stream("/Filter [/FlateDecode /FlateDecode /FlateDecode]", &gzip::zlib(0, 4_000_000)))
}

/// Creates pages that have one compressed content.
pub(crate) fn pages_of_one_content(count: usize, content: &[u8]) -> Vec<u8> {
    let mut objects = objects_of("");
    objects[4] = stream("/Filter /FlateDecode", content);
    let kids: Vec<_> = (0..count).map(|page| format!("{} 0 R", objects.len() + 1 + page)).collect();
    objects[1] = object(&format!("<< /Type /Pages /Kids [{}] /Count {count} >>", kids.join(" ")));
    objects.extend((0..count).map(|_| page_object(5)));
    file(&objects, "")
}

/// Creates page trees that contain themselves.
pub(crate) fn self_referencing_pages() -> Vec<u8> {
    let catalog = object("<< /Type /Catalog /Pages 2 0 R >>");
    let pages = object("<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000000 >>");
    let more = object("<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000000 /Parent 3 0 R >>");
    file(&[catalog, pages, more], "")
}

/// Creates a cross-reference table whose `/Prev` is itself.
pub(crate) fn self_referencing_table() -> Vec<u8> {
    let objects = objects_of("around");
    // The last `xref` is in `startxref`; the table is the one before.
    let good = file(&objects, "");
    let place = good
        .windows(4)
        .rposition(|it| it == b"xref")
        .and_then(|at| good[..at].windows(5).rposition(|it| it == b"\nxref").map(|at| at + 1));
    file(&objects, &format!("/Prev {}", place.expect("a table")))
}

/// Creates a stream whose length refers to the stream itself, and a form that draws itself.
pub(crate) fn self_referencing_streams() -> Vec<u8> {
    let content = b"<< /Length 5 0 R >>\nstream\n/F Do\nendstream".to_vec();
    let mut objects = objects_of("");
    objects[4] = content;
    objects[3] = object(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R \
         /Resources << /XObject << /F 6 0 R >> >> >>",
    );
    let form = "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /XObject << /F 6 0 R >> >>";
    objects.push(stream(form, b"/F Do /F Do /F Do"));
    file(&objects, "")
}

/// Creates nested arrays, `arrays` levels deep.
pub(crate) fn deep(arrays: usize) -> Vec<u8> {
    let mut objects = objects_of("deep");
    objects[2] = object(&format!("<< /Title {}{} >>", "[".repeat(arrays), "]".repeat(arrays)));
    file(&objects, "/Info 3 0 R")
}

/// Creates a file that needs a password.
pub(crate) fn encrypted() -> Vec<u8> {
    let mut objects = objects_of("secret");
    let (owner, user) = ("a1".repeat(32), "5e".repeat(32));
    objects.push(object(&format!(
        "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -3904 /O <{owner}> /U <{user}> >>"
    )));
    let id = "00112233445566778899aabbccddeeff";
    file(&objects, &format!("/Encrypt 6 0 R /ID [<{id}> <{id}>]"))
}

fn one_page(content: Vec<u8>) -> Vec<u8> {
    let mut objects = objects_of("");
    objects[4] = content;
    file(&objects, "")
}

/// The objects of a file with one page: catalog, pages, information, page, content.
fn objects_of(text: &str) -> Vec<Vec<u8>> {
    vec![
        object("<< /Type /Catalog /Pages 2 0 R >>"),
        object("<< /Type /Pages /Kids [4 0 R] /Count 1 >>"),
        object("<< >>"),
        page_object(5),
        stream("", lines(text).as_bytes()),
    ]
}

fn page_object(content: usize) -> Vec<u8> {
    object(&format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R /Resources << /Font \
         << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
    ))
}

/// Content operators that show the lines of `text` below each other.
fn lines(text: &str) -> String {
    let shown: Vec<_> = text.lines().map(|line| format!("({line}) Tj T*")).collect();
    format!("BT /F1 12 Tf 14 TL 72 720 Td {} ET", shown.join(" "))
}

fn object(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn stream(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut object = format!("<< /Length {} {entries} >>\nstream\n", data.len()).into_bytes();
    object.extend_from_slice(data);
    object.extend_from_slice(b"\nendstream");
    object
}

/// Assembles a file from `objects`, which are numbered from 1. The first must be the catalog.
fn file(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", bytes.len()).expect("a string takes everything");
        bytes.extend_from_slice(format!("{} 0 obj\n", number + 1).as_bytes());
        bytes.extend_from_slice(object);
        bytes.extend_from_slice(b"\nendobj\n");
    }
    let start = bytes.len();
    let size = objects.len() + 1;
    bytes.extend_from_slice(table.as_bytes());
    bytes.extend_from_slice(
        format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n").as_bytes(),
    );
    bytes
}
