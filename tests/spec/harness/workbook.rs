//! Binary workbooks (\[MS-XLS\]) of one sheet, with features that no library writes.

use std::io::{Cursor, Write};

/// Creates a workbook whose cells are `HYPERLINK` formulas with a target and a text, and whose first cell has
/// a comment.
pub(crate) fn xls(title: (u16, &[u8]), links: &[(&str, &str)], comment: (&str, &str)) -> Vec<u8> {
    let cells: Vec<_> = links.iter().zip(0..).flat_map(|(link, row)| linked(row, *link)).collect();
    let (author, text) = comment;
    let object = [&numbers(&[0x15, 0x12, 0x19, 1])[..], &[0; 14]].concat();
    let shown = [&numbers(&[0, 0, 0, 0, 0, length(text), 0])[..], &[0; 4], &[0], text.as_bytes()].concat();
    let note = [&numbers(&[0, 0, 0, 1, length(author)])[..], &[0], author.as_bytes()].concat();
    let comment = [record(0x005D, &object), record(0x01B6, &shown), record(0x001C, &note)].concat();
    let sheet = [beginning(0x10), cells, comment, record(0x000A, &[])].concat();

    let place = |at: usize| {
        let at = u32::try_from(at).expect("it is small").to_le_bytes();
        record(0x0085, &[&at[..], &[0, 0, 5, 0], b"Tides"].concat())
    };
    let globals = |at| [beginning(0x05), place(at), record(0x000A, &[])].concat();
    let stream = [globals(globals(0).len()), sheet].concat();

    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).expect("it is in memory");
    for (name, bytes) in [("Workbook", stream), ("\u{5}SummaryInformation", properties(title))] {
        file.create_stream(name).and_then(|mut it| it.write_all(&bytes)).expect("it is in memory");
    }
    file.into_inner().into_inner()
}

/// Encodes a cell with the formula `HYPERLINK(target, text)` and its result.
fn linked(row: u16, (target, text): (&str, &str)) -> Vec<u8> {
    let strings = [target, text].map(|it| [&[0x17, length(it).to_le_bytes()[0], 0], it.as_bytes()].concat());
    let tokens = [&strings.concat()[..], &[0x42, 2], &0x0167_u16.to_le_bytes()].concat();
    let size = u16::try_from(tokens.len()).expect("it is small");
    let formula = [&numbers(&[row, 0, 0, 0, 0, 0, 0xFFFF, 0, 0, 0, size])[..], &tokens].concat();
    let result = [&numbers(&[length(text)])[..], &[0], text.as_bytes()].concat();
    [record(0x0006, &formula), record(0x0207, &result)].concat()
}

/// Encodes document properties (\[MS-OLEPS\], section 2.21): code page, and title in that encoding.
fn properties((code_page, title): (u16, &[u8])) -> Vec<u8> {
    let number = |it: usize| u32::try_from(it).expect("it is small").to_le_bytes();
    let title = [title, &[0]].concat();
    let entries = [[1, 24], [2, 32]].concat().into_iter().flat_map(number).collect::<Vec<_>>();
    let values =
        [&number(2)[..], &number(code_page.into()), &number(30), &number(title.len()), &title].concat();
    let set = [&number(8 + entries.len() + values.len())[..], &number(2), &entries, &values].concat();
    let id = b"\xE0\x85\x9F\xF2\xF9\x4F\x68\x10\xAB\x91\x08\x00\x2B\x27\xB3\xD9";
    [&numbers(&[0xFFFE, 0, 6, 2])[..], &[0; 16], &number(1), id, &number(48), &set].concat()
}

fn beginning(of: u16) -> Vec<u8> {
    record(0x0809, &[&numbers(&[0x0600, of])[..], &[0; 12]].concat())
}

fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let size = u16::try_from(data.len()).expect("it is small");
    [&numbers(&[kind, size])[..], data].concat()
}

fn numbers(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().copied().flat_map(u16::to_le_bytes).collect()
}

fn length(text: &str) -> u16 {
    u16::try_from(text.len()).expect("it is small")
}
