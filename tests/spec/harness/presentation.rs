//! Binary presentations (\[MS-PPT\]) of one slide.

use std::io::{Cursor, Write};

/// Creates a presentation of one slide with a title and a table, and with different text in the outline.
pub(crate) fn ppt(title: &str, table: &[[&str; 2]; 2], outline: &[&str]) -> Vec<u8> {
    let listed = [persist_atom(SLIDE_ID), outline.iter().flat_map(|line| text(line)).collect()].concat();
    let document = container(0x03E8, &container(0x0FF0, &listed));
    let cells = table.iter().zip(0..).flat_map(|(row, top)| {
        row.iter().zip(0..).map(move |(words, left)| shape(&[child_anchor(left, top), textbox(words)]))
    });
    let table = group(&cells.collect::<Vec<_>>().concat());
    let shapes = group(&[table, shape(&[textbox(title)])].concat());
    let slide = [atom(0x03EF, &[0; 24]), container(0x040C, &container(0xF002, &shapes))].concat();
    let slide = container(0x03EE, &slide);

    let directory_at = number(document.len() + slide.len());
    let offsets = [number(DOCUMENT_ID | 2 << 20), number(0), number(document.len())].concat();
    let directory = atom(0x1772, &offsets);
    let edit_at = number(document.len() + slide.len() + directory.len());
    let edit =
        [&number(256)[..], &[0; 8], &directory_at, &number(DOCUMENT_ID), &number(SLIDE_ID), &[0; 4]].concat();
    let stream = [document, slide, directory, atom(0x0FF5, &edit)].concat();
    let user = [&number(0x14)[..], &number(0xE391_C05F), &edit_at, &[0, 0, 0xF4, 3, 3, 0, 0, 0]].concat();

    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).expect("it is in memory");
    for (name, bytes) in [("PowerPoint Document", stream), ("Current User", atom(0x0FF6, &user))] {
        file.create_stream(name).and_then(|mut it| it.write_all(&bytes)).expect("it is in memory");
    }
    file.into_inner().into_inner()
}

/// Persist ids of the document and the slide.
const DOCUMENT_ID: usize = 1;
const SLIDE_ID: usize = 2;

fn persist_atom(id: usize) -> Vec<u8> {
    atom(0x03F3, &[&number(id)[..], &[0; 8], &number(256), &[0; 4]].concat())
}

fn group(shapes: &[u8]) -> Vec<u8> {
    container(0xF003, &[&shape(&[atom(0xF009, &[0; 16])])[..], shapes].concat())
}

fn shape(parts: &[Vec<u8>]) -> Vec<u8> {
    container(0xF004, &[atom(0xF00A, &[0; 8]), parts.concat()].concat())
}

fn child_anchor(left: usize, top: usize) -> Vec<u8> {
    let edges = [left * 1000, top * 1000, left * 1000 + 900, top * 1000 + 900];
    atom(0xF00F, &edges.map(number).concat())
}

fn textbox(words: &str) -> Vec<u8> {
    container(0xF00D, &text(words))
}

fn text(words: &str) -> Vec<u8> {
    [atom(0x0F9F, &[0; 4]), atom(0x0FA8, words.as_bytes())].concat()
}

fn container(kind: u16, parts: &[u8]) -> Vec<u8> {
    record(0xF, kind, parts)
}

fn atom(kind: u16, data: &[u8]) -> Vec<u8> {
    record(0, kind, data)
}

fn record(version: u16, kind: u16, data: &[u8]) -> Vec<u8> {
    [&version.to_le_bytes()[..], &kind.to_le_bytes(), &number(data.len()), data].concat()
}

fn number(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("it is small").to_le_bytes()
}
