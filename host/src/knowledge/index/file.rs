//! A user's index as the bytes of a file, without what is dead in it.
//!
//! ```text
//! magic | version | size of the header (u32) | header (JSON) | columns | SHA-256 over the SHA-256 of each MiB before it
//! ```
//!
//! Invariant: whatever the bytes are, reading them ends without a panic, and with an index that can be searched or with
//! none. What one column says of another is checked.

mod columns;
pub(in crate::knowledge) mod fuzzing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{self, Read};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::columns::{Columns, put, put_numbers};
use super::matrix::Matrix;
use super::{Chunk, DEAD, MAX_CHUNKS, NO_ROW, Posting, UserIndex};
use crate::knowledge::store::{Models, Revision};
use crate::knowledge::words::{packed, unpacked};
use crate::sha256::{Digest, Sha256};

/// What a file says of its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) user_id: String,
    /// The models whose vectors it has.
    pub(super) models: Models,
    /// The index has what the database had at this revision, and nothing else.
    pub(super) revision: Revision,
}

const MAGIC: [u8; 12] = *b"kitbag-index";
/// Raised with every change of the format. Files of another version are not read.
const VERSION: u32 = 1;
const PREFIX: usize = MAGIC.len() + 2 * size_of::<u32>();
/// In bytes. An index whose header is longer has no file.
const MAX_HEADER: usize = 64 << 10;
/// Bytes that are hashed at once: several threads share the work.
const PIECE: usize = 1 << 20;

/// What the column of vectors has for a chunk: which matrix has its row. Rows are in the order of their chunks.
const NO_VECTOR: u8 = 0;
const OF_CURRENT: u8 = 1;
const OF_PREVIOUS: u8 = 2;

/// The file of an index but for its [`seal`]; nothing where the header is too long.
pub(super) fn encode(header: &Header, index: &UserIndex) -> Option<Vec<u8>> {
    let header = serde_json::to_vec(header).expect("texts and numbers are valid in JSON");
    let size = u32::try_from(header.len()).ok().filter(|_| header.len() <= MAX_HEADER)?;
    let mut bytes = Vec::with_capacity(PREFIX + header.len() + index.bytes());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&header);
    write_columns(index, &mut bytes);
    Some(bytes)
}

/// Ends a file: appends its hash.
pub(super) fn seal(bytes: &mut Vec<u8>) {
    let pieces: Vec<_> = bytes.chunks(PIECE).map(Sha256::digest).collect();
    bytes.extend_from_slice(&hash(&pieces));
}

/// Reads a file; nothing where it is cut off, changed, or of another version.
pub(super) fn decode(bytes: &[u8]) -> Option<(Header, UserIndex)> {
    let (content, seal) = bytes.split_last_chunk::<{ size_of::<Digest>() }>()?;
    let pieces: Vec<_> = content.par_chunks(PIECE).map(Sha256::digest).collect();
    if hash(&pieces) != *seal {
        return None;
    }
    let (prefix, rest) = content.split_first_chunk::<PREFIX>()?;
    let (header, columns) = rest.split_at_checked(header_size(prefix)?)?;
    Some((serde_json::from_slice(header).ok()?, read_columns(columns)?))
}

/// Reads the header alone, unchecked; nothing where there is none of this version.
pub(super) fn read_header(mut file: impl Read) -> io::Result<Option<Header>> {
    let mut start = Vec::new();
    file.by_ref().take(PREFIX as u64).read_to_end(&mut start)?;
    let prefix: Option<&[u8; PREFIX]> = start.as_slice().try_into().ok();
    let Some(size) = prefix.and_then(header_size) else { return Ok(None) };
    let mut header = Vec::new();
    file.take(size as u64).read_to_end(&mut header)?;
    Ok(serde_json::from_slice(&header).ok())
}

fn hash(pieces: &[Digest]) -> Digest {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.finish()
}

fn header_size(prefix: &[u8; PREFIX]) -> Option<usize> {
    let (magic, rest) = prefix.split_first_chunk::<{ MAGIC.len() }>()?;
    let (numbers, _) = rest.as_chunks::<{ size_of::<u32>() }>();
    let [version, size] = numbers else { return None };
    let size = u32::from_le_bytes(*size) as usize;
    let is_known = *magic == MAGIC && u32::from_le_bytes(*version) == VERSION && size <= MAX_HEADER;
    is_known.then_some(size)
}

fn write_columns(index: &UserIndex, bytes: &mut Vec<u8>) {
    let alive = || index.chunks.iter().filter(|chunk| chunk.document != DEAD);
    let rows = |is_previous: bool| -> Vec<u32> {
        let rows = alive().filter(|chunk| chunk.row != NO_ROW && chunk.is_previous == is_previous);
        rows.map(|chunk| chunk.row).collect()
    };
    put_numbers(bytes, alive().map(|chunk| chunk.id.to_le_bytes()));
    put_numbers(bytes, alive().map(|chunk| index.document_at(chunk.document).to_le_bytes()));
    put_numbers(bytes, alive().map(|chunk| packed(chunk.analyzer, chunk.length)));
    put_numbers(bytes, alive().map(|chunk| [vector_of(chunk)]));
    write_postings(index, bytes);
    put(bytes, |bytes| index.matrix.write(&rows(false), bytes));
    put(bytes, |bytes| index.previous.write(&rows(true), bytes));
}

fn vector_of(chunk: &Chunk) -> u8 {
    match (chunk.row, chunk.is_previous) {
        (NO_ROW, _) => NO_VECTOR,
        (_, false) => OF_CURRENT,
        (_, true) => OF_PREVIOUS,
    }
}

/// Three columns: all postings, those of a term beside each other; the terms, in ascending order; how many postings each
/// has.
fn write_postings(index: &UserIndex, bytes: &mut Vec<u8>) {
    let mut next = 0;
    let place = |chunk: &Chunk| {
        let is_alive = chunk.document != DEAD;
        let place = if is_alive { next } else { DEAD };
        next += u32::from(is_alive);
        place
    };
    let places: Vec<u32> = index.chunks.iter().map(place).collect();
    let mut terms: Vec<_> = index.postings.iter().collect();
    terms.sort_unstable_by_key(|(term, _)| **term);
    let mut counts = Vec::with_capacity(terms.len());
    put(bytes, |bytes| {
        for (term, postings) in terms {
            let mut count = 0_u32;
            for posting in postings {
                let (place, times) = posting.parts();
                let place = places[place as usize];
                if place != DEAD {
                    bytes.extend_from_slice(&Posting::new(place, times.into()).0.to_le_bytes());
                    count += 1;
                }
            }
            if count > 0 {
                counts.push((*term, count));
            }
        }
    });
    put_numbers(bytes, counts.iter().map(|(term, _)| term.to_le_bytes()));
    put_numbers(bytes, counts.iter().map(|(_, count)| count.to_le_bytes()));
}

fn read_columns(bytes: &[u8]) -> Option<UserIndex> {
    let mut columns = Columns::of(bytes);
    let (ids, documents) = (columns.numbers::<8>()?, columns.numbers::<8>()?);
    let (words, vectors) = (columns.numbers::<4>()?, columns.bytes()?);
    let count = ids.len();
    if count > MAX_CHUNKS || [documents.len(), words.len(), vectors.len()] != [count; 3] {
        return None;
    }
    let mut index = UserIndex {
        chunks: Vec::with_capacity(count),
        places: HashMap::with_capacity(count),
        ..UserIndex::default()
    };
    for ((id, document), words) in ids.iter().zip(documents).zip(words) {
        let (id, (analyzer, length)) = (i64::from_le_bytes(*id), unpacked(*words)?);
        // Documents count their words in 32 bits.
        let is_countable = u32::try_from(index.words + u64::from(length)).is_ok();
        if index.places.contains_key(&id) || !is_countable {
            return None;
        }
        index.add_chunk(id, i64::from_le_bytes(*document), analyzer, length);
    }
    read_postings(&mut columns, &mut index)?;
    let (mut owners, mut owners_of_previous) = (Vec::new(), Vec::new());
    for ((place, chunk), vector) in (0_u32..).zip(&mut index.chunks).zip(vectors) {
        let owners = match *vector {
            NO_VECTOR => continue,
            OF_CURRENT => &mut owners,
            OF_PREVIOUS => &mut owners_of_previous,
            _ => return None,
        };
        chunk.row = u32::try_from(owners.len()).ok()?;
        chunk.is_previous = *vector == OF_PREVIOUS;
        owners.push(place);
    }
    index.matrix = Matrix::read(columns.bytes()?, owners)?;
    index.previous = Matrix::read(columns.bytes()?, owners_of_previous)?;
    columns.are_read().then_some(index)
}

fn read_postings(columns: &mut Columns<'_>, index: &mut UserIndex) -> Option<()> {
    let mut postings = columns.numbers::<4>()?;
    let (terms, counts) = (columns.numbers::<4>()?, columns.numbers::<4>()?);
    if terms.len() != counts.len() {
        return None;
    }
    index.postings_count = postings.len();
    index.postings.reserve(terms.len());
    let mut term_before = None;
    for (term, count) in terms.iter().zip(counts) {
        let term = u32::from_le_bytes(*term);
        let (of_term, rest) = postings.split_at_checked(u32::from_le_bytes(*count) as usize)?;
        let of_term: Vec<_> = of_term.iter().map(|posting| Posting(u32::from_le_bytes(*posting))).collect();
        let are_in_order = of_term.is_sorted_by(|one, next| one.parts().0 <= next.parts().0);
        let is_last_there = of_term.last().is_some_and(|last| index.chunk(last.parts().0).is_some());
        if !are_in_order || !is_last_there || term_before.is_some_and(|before| before >= term) {
            return None;
        }
        index.postings.insert(term, of_term);
        (postings, term_before) = (rest, Some(term));
    }
    postings.is_empty().then_some(())
}
