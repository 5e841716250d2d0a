//! File format of a holder's index, without dead entries. Large columns are searched in place.
//!
//! ```text
//! magic | version | size of the header (u32) | header (JSON) | columns | size of each column (u64) | seal
//! ```
//!
//! The seal is the XXH3 over the XXH3 of each MiB before it: it detects damage, not tampering. Columns begin
//! at multiples of 64 bytes; their numbers are little-endian.
//!
//! Invariant: reading and searching a file never panics, whatever its bytes are. References between columns
//! are checked when they are read or on each use.

pub(crate) mod fuzzing;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::File;
use std::io::{self, Read, Write};

use bytes::Bytes;
use kitbag_embedding::rows::Columns;
use serde::{Deserialize, Serialize};

use self::reader::{columns, is_whole, numbers};
use self::writer::Writer;
use super::mapped::Mapped;
use super::matrix::Matrix;
use super::postings::{Part, Postings, place_and_count, posting};
use super::{MAX_CHUNKS, NO_ROW, UserIndex};
use crate::store::Revision;
use crate::words::{packed, unpacked};

/// Header of an index file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// Key of the holder whose index it is.
    pub(super) holder: String,
    /// Model of the vectors in the file.
    pub(super) model: Option<String>,
    /// Revision of the database with exactly the contents of the index.
    pub(super) revision: Revision,
}

const MAGIC: [u8; 12] = *b"kitbag-index";
/// Format version, raised with every change of the format. Files of another version are not read.
const VERSION: u32 = 3;
const PREFIX: usize = MAGIC.len() + 2 * size_of::<u32>();
/// Largest header, in bytes. An index with a longer header has no file.
const MAX_HEADER: usize = 64 << 10;

/// Number of columns: chunks, postings and the matrix.
const COLUMNS: usize = CHUNK_COLUMNS + POSTING_COLUMNS + MATRIX_COLUMNS;
const CHUNK_COLUMNS: usize = 4;
const POSTING_COLUMNS: usize = 3;
const MATRIX_COLUMNS: usize = 4;

/// Column with random access: the numbers of the matrix, of which only the nearest rows are read.
const RANDOM_COLUMN: usize = COLUMNS - 1;

/// Values in the column of vectors: whether the chunk has a row. Rows are in the order of their chunks.
const NO_VECTOR: u8 = 0;
const HAS_VECTOR: u8 = 1;

/// Bytes of a file besides the counted parts: header, sizes, gaps.
const OVERHEAD: usize = 128 << 10;
/// Bytes per chunk in the columns of chunks.
const BYTES_PER_CHUNK: usize = 2 * size_of::<i64>() + size_of::<u32>() + 1;

/// Whether the file format can represent an index with this header.
#[cfg(test)]
pub(super) fn can_be_written(header: &Header, index: &UserIndex) -> bool {
    encoded(header).len() <= MAX_HEADER && order(index).is_some()
}

/// Upper bound of the file size of an index, in bytes.
pub(super) fn max_bytes(index: &UserIndex) -> u64 {
    let matrix = &index.matrix;
    let row = matrix.width() * 2 + matrix.width().next_multiple_of(64) / 8 + 12;
    let vectors = matrix.alive().next_multiple_of(8) * row;
    let chunks = index.len() * BYTES_PER_CHUNK + index.postings.file_bytes();
    (OVERHEAD + chunks + vectors) as u64
}

/// Writes the file of an index in small pieces.
pub(super) fn write<W: Write>(header: &Header, index: &UserIndex, out: W) -> io::Result<W> {
    let header = encoded(header);
    let order = order(index).filter(|_| header.len() <= MAX_HEADER);
    let (Some(order), Ok(size)) = (order, u32::try_from(header.len())) else {
        return Err(io::Error::other("this index has no file"));
    };
    let mut out = Writer::new(out);
    out.write_all(&MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    out.write_all(&size.to_le_bytes())?;
    out.write_all(&header)?;
    write_chunks(index, &order, &mut out)?;
    write_postings(index, &order, &mut out)?;
    let rows = order.iter().map(|place| index.rows[*place as usize]);
    let rows: Vec<_> = rows.filter(|row| *row != NO_ROW).collect();
    write_rows(&index.matrix, &rows, &mut out)?;
    out.finish()
}

/// Opens and maps a file; `None` if it is truncated, damaged, or of another version.
pub(super) fn open(file: &File) -> io::Result<Option<(Header, UserIndex)>> {
    let size = file.metadata()?.len();
    if !is_whole(file, size)? {
        return Ok(None);
    }
    let mapped = Mapped::new(file)?;
    Ok(read(&mapped.bytes(), &|part| mapped.is_used_at_random(part)))
}

/// Moves large parts of an index from memory to a private file.
pub(super) fn spill(index: &mut UserIndex, file: &File) -> io::Result<()> {
    let mut out = Writer::new(file);
    let postings = &index.postings;
    let terms = postings.recent_terms();
    let mut ends = Vec::with_capacity(terms.len());
    out.column(|out| {
        let mut end = 0;
        terms.iter().try_for_each(|term| {
            end += postings.write_recent(*term, out)?;
            ends.push(end);
            Ok(())
        })
    })?;
    out.numbers(terms.iter().map(|term| term.to_le_bytes()))?;
    out.numbers(ends.iter().map(|end| end.to_le_bytes()))?;
    write_rows(&index.matrix, &index.matrix.recent(), &mut out)?;
    out.finish()?;
    let mapped = Mapped::new(file)?;
    let columns = columns::<{ COLUMNS - CHUNK_COLUMNS }>(&mapped.bytes(), 0);
    let [postings, terms, ends, _, sketches, factors, numbers] = columns.ok_or(io::ErrorKind::InvalidData)?;
    mapped.is_used_at_random(&numbers);
    let matrix = &mut index.matrix;
    if !matrix.recent().is_empty() && !matrix.replace_recent(Columns { sketches, factors, numbers }) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    if !index.postings.replace_recent(Part { terms, ends, postings }) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(())
}

/// Reads the header only, without checking the seal; `None` if there is none of this version.
pub(super) fn read_header(mut file: impl Read) -> io::Result<Option<Header>> {
    let mut start = Vec::new();
    file.by_ref().take(PREFIX as u64).read_to_end(&mut start)?;
    let prefix: Option<&[u8; PREFIX]> = start.as_slice().try_into().ok();
    let Some(size) = prefix.and_then(header_size) else { return Ok(None) };
    let mut header = Vec::new();
    file.take(size as u64).read_to_end(&mut header)?;
    Ok(serde_json::from_slice(&header).ok())
}

fn encoded(header: &Header) -> Vec<u8> {
    serde_json::to_vec(header).expect("texts and numbers are valid in JSON")
}

fn header_size(prefix: &[u8; PREFIX]) -> Option<usize> {
    let (magic, rest) = prefix.split_first_chunk::<{ MAGIC.len() }>()?;
    let (numbers, _) = rest.as_chunks::<{ size_of::<u32>() }>();
    let [version, size] = numbers else { return None };
    let size = u32::from_le_bytes(*size) as usize;
    let is_known = *magic == MAGIC && u32::from_le_bytes(*version) == VERSION && size <= MAX_HEADER;
    is_known.then_some(size)
}

/// Places of all live chunks in file order: ascending ids, with the chunks of a document adjacent. `None` if
/// both conditions cannot hold, which jobs do not cause: they write all chunks of a document at once.
fn order(index: &UserIndex) -> Option<Vec<u32>> {
    let alive = (0_u32..).zip(&index.chunks).filter(|(_, chunk)| chunk.is_alive);
    let mut order: Vec<_> = alive.map(|(place, _)| place).collect();
    order.sort_unstable_by_key(|place| index.ids[*place as usize]);
    let document = |place: &u32| index.chunks[*place as usize].document;
    let runs = order.chunk_by(|one, next| document(one) == document(next)).count();
    (runs == index.documents()).then_some(order)
}

fn write_chunks<W: Write>(index: &UserIndex, order: &[u32], out: &mut Writer<W>) -> io::Result<()> {
    let chunks = || order.iter().map(|place| (*place as usize, index.chunks[*place as usize]));
    out.numbers(chunks().map(|(place, _)| index.ids[place].to_le_bytes()))?;
    out.numbers(chunks().map(|(_, chunk)| index.document_at(chunk.document).to_le_bytes()))?;
    out.numbers(chunks().map(|(_, chunk)| packed(chunk.analyzer, chunk.length)))?;
    out.numbers(
        chunks().map(|(place, _)| if index.rows[place] == NO_ROW { [NO_VECTOR] } else { [HAS_VECTOR] }),
    )
}

/// Writes three columns: all postings, grouped by term; the terms, ascending; the cumulative number of
/// postings up to each term.
fn write_postings<W: Write>(index: &UserIndex, order: &[u32], out: &mut Writer<W>) -> io::Result<()> {
    let mut places = vec![u32::MAX; index.chunks.len()];
    (0..).zip(order).for_each(|(new, place)| places[*place as usize] = new);
    let mut ends = Vec::new();
    let mut end = 0_u64;
    let mut of_term = Vec::new();
    out.column(|out| {
        for term in index.postings.terms() {
            let postings = index.postings.of(term).flatten().map(|posting| place_and_count(*posting));
            of_term.extend(postings.filter_map(|(place, count)| {
                let place = places.get(place as usize).filter(|place| **place != u32::MAX)?;
                Some((*place, count))
            }));
            if !of_term.is_sorted() {
                of_term.sort_unstable();
            }
            if of_term.is_empty() {
                continue;
            }
            end += of_term.len() as u64;
            ends.push((term, end));
            for (place, count) in of_term.drain(..) {
                out.write_all(&posting(place, count.into()))?;
            }
        }
        Ok(())
    })?;
    out.numbers(ends.iter().map(|(term, _)| term.to_le_bytes()))?;
    out.numbers(ends.iter().map(|(_, end)| end.to_le_bytes()))
}

fn write_rows<W: Write>(matrix: &Matrix, rows: &[u32], out: &mut Writer<W>) -> io::Result<()> {
    let width = if rows.is_empty() { 0 } else { matrix.width() as u64 };
    out.numbers([width.to_le_bytes()].into_iter())?;
    out.column(|out| matrix.write_sketches(rows, out))?;
    out.column(|out| matrix.write_factors(rows, out))?;
    out.column(|out| matrix.write_numbers(rows, out))
}

/// Parses a whole file; `None` if it is not valid in this version. Calls `is_used_at_random` for columns with
/// random access.
fn read(file: &Bytes, is_used_at_random: &dyn Fn(&Bytes)) -> Option<(Header, UserIndex)> {
    let (prefix, rest) = file.split_first_chunk::<PREFIX>()?;
    let header = rest.get(..header_size(prefix)?)?;
    let columns = columns::<COLUMNS>(file, PREFIX + header.len())?;
    is_used_at_random(&columns[RANDOM_COLUMN]);
    Some((serde_json::from_slice(header).ok()?, read_columns(columns)?))
}

fn read_columns(columns: [Bytes; COLUMNS]) -> Option<UserIndex> {
    let [ids, documents, words, vectors, columns @ ..] = columns;
    let [postings, terms, ends, width, sketches, factors, rows] = columns;
    let mut index = read_chunks(numbers(&ids)?, numbers(&documents)?, numbers(&words)?)?;
    index.postings = Postings::of_part(Part { terms, ends, postings })?;
    if vectors.len() != index.chunks.len() {
        return None;
    }
    let mut owners = Vec::new();
    for ((place, row), vector) in (0_u32..).zip(&mut index.rows).zip(&vectors) {
        match *vector {
            NO_VECTOR => continue,
            HAS_VECTOR => {}
            _ => return None,
        }
        *row = u32::try_from(owners.len()).ok()?;
        owners.push(place);
    }
    let [width] = numbers(&width)? else { return None };
    let width = usize::try_from(u64::from_le_bytes(*width)).ok()?;
    index.matrix = Matrix::of_part(width, Columns { sketches, factors, numbers: rows }, owners)?;
    Some(index)
}

fn read_chunks(ids: &[[u8; 8]], documents: &[[u8; 8]], words: &[[u8; 4]]) -> Option<UserIndex> {
    let count = ids.len();
    if count > MAX_CHUNKS || [documents.len(), words.len()] != [count; 2] {
        return None;
    }
    let mut index = UserIndex::default();
    index.chunks.reserve_exact(count);
    index.ids.reserve_exact(count);
    index.rows.reserve_exact(count);
    let mut last_id = None;
    let mut last_document = None;
    for ((id, document), words) in ids.iter().zip(documents).zip(words) {
        let id = i64::from_le_bytes(*id);
        let document = i64::from_le_bytes(*document);
        let (analyzer, length) = unpacked(*words)?;
        let place = match last_document {
            Some((last, place)) if last == document => place,
            _ if index.document_places.contains_key(&document) => return None,
            _ => index.document_place(document),
        };
        // Word counts of documents have 32 bits.
        let is_countable = u32::try_from(index.words + u64::from(length)).is_ok();
        if !is_countable || last_id.is_some_and(|last| last >= id) {
            return None;
        }
        index.add_chunk(id, place, analyzer, length);
        (last_id, last_document) = (Some(id), Some((document, place)));
    }
    index.in_file = count;
    Some(index)
}
