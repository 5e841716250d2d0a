//! In-memory search index of a holder's chunks. The database remains the source of truth.
//!
//! Invariants:
//! - an index has the chunks of one holder only. Statistics (document frequencies, lengths) are summed over the
//!   indexes that a search may see ([`Union`]), so they reveal nothing about others;
//! - a removed chunk is never found: it is marked dead, even if postings still refer to it;
//! - a place is assigned to one chunk only, and never reused.

pub(super) mod cache;
pub(super) mod file;
mod files;
pub(super) mod keeper;
mod mapped;
mod matrix;
mod partitions;
mod postings;
#[cfg(test)]
pub(super) mod tests;
mod union;

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;

use self::matrix::Matrix;
pub(super) use self::partitions::{MIN_CHUNKS, Partition};
use self::postings::{Posting, Postings, place_and_count, posting};
pub(super) use self::union::{Cosines, Union};
use super::store::ChunkRow;
use super::words::{self, Analyzer, Analyzers, Counted, QueryWord};

/// Position of a chunk in its index.
pub(super) type ChunkNumber = u32;

/// Index of one holder's chunks. Postings and vectors may be in mapped files; everything else is in memory.
#[derive(Clone, Default)]
pub(super) struct UserIndex {
    chunks: Vec<Chunk>,
    /// Database id of each chunk.
    ids: Vec<i64>,
    /// Matrix row of each chunk, or [`NO_ROW`].
    rows: Vec<u32>,
    /// Number of chunks from a file. They come first, in ascending order of their documents and of their ids.
    in_file: usize,
    /// Places of the other live chunks, by database id.
    places: HashMap<i64, ChunkNumber, RandomState>,
    /// Database id of each document.
    documents: Vec<i64>,
    /// Number of words of each document. Words that several passages share are counted in each: the overlap
    /// of neighbours, and the title.
    document_lengths: Vec<u32>,
    /// Number of live chunks of each document.
    document_chunks: Vec<u32>,
    alive_documents: usize,
    document_places: HashMap<i64, u32, RandomState>,
    postings: Postings,
    matrix: Matrix,
    /// Number of live chunks, and of their words.
    alive: usize,
    words: u64,
    /// Number of live chunks by each analyzer.
    analyzers: BTreeMap<Analyzer, usize>,
}

/// Metadata of a chunk for full-text search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Place of the chunk's document.
    document: u32,
    /// Number of words, including those of the title.
    pub(super) length: u32,
    /// Analyzer that produced the terms.
    analyzer: Analyzer,
    is_alive: bool,
}

/// Error: the index has the largest possible number of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

const NO_ROW: u32 = u32::MAX;
/// Number of chunks that a posting can address (24 bits).
const MAX_CHUNKS: usize = 1 << 24;

/// Approximate memory in bytes for each chunk, each chunk that is in no file, and each document: fields and
/// lookup tables.
const BYTES_PER_CHUNK: usize = size_of::<Chunk>() + size_of::<i64>() + size_of::<u32>();
const BYTES_PER_NEW_CHUNK: usize = 32;
const BYTES_PER_DOCUMENT: usize = 48;

impl UserIndex {
    /// Adds a chunk, or sets the vector of an existing one.
    pub(super) fn put(&mut self, row: &ChunkRow) -> Result<(), Full> {
        let place = match self.place(row.id) {
            Some(place) => place,
            None => self.add(row)?,
        };
        if let Some(vector) = &row.vector
            && let Some(row) = self.matrix.put(place, vector)
        {
            self.matrix.clear(std::mem::replace(&mut self.rows[place as usize], row));
        }
        Ok(())
    }

    /// Place of a live chunk.
    fn place(&self, id: i64) -> Option<ChunkNumber> {
        if let Some(place) = self.places.get(&id) {
            return Some(*place);
        }
        let place = self.ids[..self.in_file].binary_search(&id).ok()?;
        self.chunks[place].is_alive.then(|| u32::try_from(place).expect("there are no more than 2^24"))
    }

    /// Removes every chunk that is not in `live`.
    pub(super) fn retain(&mut self, live: &HashSet<i64>) {
        for place in 0..self.chunks.len() {
            if !self.chunks[place].is_alive || live.contains(&self.ids[place]) {
                continue;
            }
            self.places.remove(&self.ids[place]);
            self.matrix.clear(std::mem::replace(&mut self.rows[place], NO_ROW));
            let chunk = &mut self.chunks[place];
            chunk.is_alive = false;
            let document = chunk.document as usize;
            self.document_lengths[document] -= chunk.length;
            self.document_chunks[document] -= 1;
            self.alive_documents -= usize::from(self.document_chunks[document] == 0);
            self.alive -= 1;
            self.words -= u64::from(chunk.length);
            if let Some(count) = self.analyzers.get_mut(&chunk.analyzer) {
                *count -= 1;
            }
        }
    }

    /// Whether so many entries are dead that the index should be reloaded. Dead entries of a file are only
    /// skipped.
    pub(super) fn is_worn(&self) -> bool {
        const TOLERATED: usize = 1024;

        let dead = (self.chunks.len() - self.alive).max(self.matrix.dead());
        self.in_file == 0 && dead > TOLERATED.max(self.alive / 2)
    }

    /// Removes all vectors to free memory.
    pub(super) fn drop_vectors(&mut self) {
        self.matrix = Matrix::default();
        self.rows.fill(NO_ROW);
    }

    /// Approximate memory in bytes, without mapped files.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * BYTES_PER_CHUNK
            + self.places.len() * BYTES_PER_NEW_CHUNK
            + self.documents.len() * BYTES_PER_DOCUMENT
            + self.postings.bytes()
            + self.matrix.bytes()
    }

    /// Approximate memory in bytes that could be moved to files.
    pub(super) fn recent_bytes(&self) -> usize {
        self.postings.bytes() + self.matrix.recent_bytes()
    }

    /// Number of live chunks.
    pub(super) fn len(&self) -> usize {
        self.alive
    }

    /// Number of places, dead chunks included; every place is smaller.
    pub(super) fn places(&self) -> usize {
        self.chunks.len()
    }

    /// Number of documents with a live chunk.
    pub(super) fn documents(&self) -> usize {
        self.alive_documents
    }

    /// Total number of words of live chunks.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    /// Total number of words of a document's live chunks, by the document's place.
    pub(super) fn document_length(&self, place: u32) -> u32 {
        self.document_lengths[place as usize]
    }

    /// Chunk at a place, if it is live.
    pub(super) fn chunk(&self, place: ChunkNumber) -> Option<&Chunk> {
        self.chunks.get(place as usize).filter(|chunk| chunk.is_alive)
    }

    /// Calls `show` for each chunk that contains a word in the form of its own analyzer, with the term
    /// frequency.
    pub(super) fn visit(&self, word: &QueryWord, mut show: impl FnMut(ChunkNumber, u8, &Chunk)) {
        for (term, analyzers) in word.terms() {
            for postings in self.postings.of(term) {
                self.show(postings, analyzers, &mut show);
            }
        }
    }

    fn show(
        &self,
        postings: &[Posting],
        analyzers: Analyzers,
        mut show: impl FnMut(ChunkNumber, u8, &Chunk),
    ) {
        for posting in postings {
            let (place, count) = place_and_count(*posting);
            if let Some(chunk) = self.chunk(place)
                && analyzers.contains(chunk.analyzer)
            {
                show(place, count, chunk);
            }
        }
    }

    /// Ids of documents with a live chunk.
    pub(super) fn all_documents(&self) -> impl Iterator<Item = i64> + '_ {
        let chunks = self.document_chunks.iter().zip(&self.documents);
        chunks.filter(|(chunks, _)| **chunks > 0).map(|(_, document)| *document)
    }

    /// Database id of the chunk at a place.
    pub(super) fn id_at(&self, place: ChunkNumber) -> i64 {
        self.ids[place as usize]
    }

    /// Database id of the document at a document place.
    pub(super) fn document_at(&self, place: u32) -> i64 {
        self.documents[place as usize]
    }

    /// Place of a document; assigns one if it has none.
    fn document_place(&mut self, document: i64) -> u32 {
        *self.document_places.entry(document).or_insert_with(|| {
            self.documents.push(document);
            self.document_lengths.push(0);
            self.document_chunks.push(0);
            u32::try_from(self.documents.len() - 1).expect("there are no more than chunks")
        })
    }

    fn add(&mut self, row: &ChunkRow) -> Result<ChunkNumber, Full> {
        if self.chunks.len() >= MAX_CHUNKS {
            return Err(Full);
        }
        let place = ChunkNumber::try_from(self.chunks.len()).expect("there are no more than 2^24");
        // Chunks with invalid term data are found by vector only.
        let (analyzer, length, terms) = match words::counted(&row.terms) {
            Some(Counted { analyzer, length, terms }) => (analyzer, length, Some(terms)),
            None => (Analyzer::default(), 0, None),
        };
        for (term, count) in terms.into_iter().flatten() {
            self.postings.push(term, posting(place, count));
        }
        let document = self.document_place(row.document);
        self.add_chunk(row.id, document, analyzer, length);
        self.places.insert(row.id, place);
        Ok(place)
    }

    /// Appends a chunk for the document at `document`. Does not add its terms, its vector, or its entry in
    /// `places`.
    fn add_chunk(&mut self, id: i64, document: u32, analyzer: Analyzer, length: u32) {
        self.alive_documents += usize::from(self.document_chunks[document as usize] == 0);
        self.document_chunks[document as usize] += 1;
        self.document_lengths[document as usize] += length;
        self.chunks.push(Chunk { document, length, analyzer, is_alive: true });
        self.ids.push(id);
        self.rows.push(NO_ROW);
        self.alive += 1;
        self.words += u64::from(length);
        *self.analyzers.entry(analyzer).or_default() += 1;
    }
}

impl Chunk {
    /// Place of the chunk's document.
    pub(super) fn document_place(&self) -> u32 {
        self.document
    }
}
