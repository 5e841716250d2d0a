//! A user's chunks in memory, as search goes through them. The truth stays in the database.
//!
//! Invariants:
//! - an index holds one user's chunks and no other's, so nothing that is counted in it (how many chunks
//!   have a word, how long they are) tells about others;
//! - a chunk that went away is never found: it is dead from then on, whatever still points to it;
//! - a place is given to one chunk only, and never again.

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

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::RandomState;

use self::matrix::{Matrix, Products};
pub(super) use self::partitions::Partition;
use self::postings::{Posting, Postings, place_and_count, posting};
use super::store::ChunkRow;
use super::words::{self, Analyzer, Analyzers, Counted, QueryWord};

/// Position of a chunk in its index.
pub(super) type ChunkNumber = u32;

/// The chunks of one user. Postings and vectors may be in mapped files; everything else is in memory.
#[derive(Clone, Default)]
pub(super) struct UserIndex {
    chunks: Vec<Chunk>,
    /// The database's name of each.
    ids: Vec<i64>,
    /// The row of each, or [`NO_ROW`], and whether that is in the matrix of the previous model.
    rows: Vec<Row>,
    /// So many chunks at the beginning are of a file: in ascending order of their documents, and of their ids.
    in_file: usize,
    /// The places of the others that are alive.
    places: HashMap<i64, ChunkNumber, RandomState>,
    /// The documents that chunks are of, as the database names them.
    documents: Vec<i64>,
    /// How many words each of them has. What its passages share is counted in each: the overlap of neighbours, and the
    /// title.
    document_lengths: Vec<u32>,
    /// How many chunks of each are alive.
    document_chunks: Vec<u32>,
    alive_documents: usize,
    document_places: HashMap<i64, u32, RandomState>,
    postings: Postings,
    matrix: Matrix,
    /// Vectors that the previous model has made of chunks which the current one has not read.
    previous: Matrix,
    /// Chunks that are alive, and the words in them.
    alive: usize,
    words: u64,
    /// How many of them each analyzer made.
    analyzers: BTreeMap<Analyzer, usize>,
}

/// What a search by words needs of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Its document's place.
    document: u32,
    /// Its words, those of the title included.
    pub(super) length: u32,
    /// What made its terms.
    analyzer: Analyzer,
    is_alive: bool,
}

/// A row of a matrix.
#[derive(Clone, Copy, Debug)]
struct Row {
    number: u32,
    is_previous: bool,
}

/// Chunks that are near a query.
#[derive(Debug, Default)]
pub(super) struct Cosines {
    /// Those that seem the nearest, with exact cosines.
    pub(super) nearest: Vec<(ChunkNumber, f32)>,
    /// The others, with estimates; none where the nearest are of enough documents.
    pub(super) others: Vec<(ChunkNumber, f32)>,
}

/// Why a row was not taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

const NO_ROW: u32 = u32::MAX;
/// Places that a posting can name.
const MAX_CHUNKS: usize = 1 << 24;

/// Memory of an index for each of its chunks, for each that is in no file and for each document, in bytes: fields, and the
/// tables that find them.
const BYTES_PER_CHUNK: usize = size_of::<Chunk>() + size_of::<i64>() + size_of::<Row>();
const BYTES_PER_NEW_CHUNK: usize = 32;
const BYTES_PER_DOCUMENT: usize = 48;

impl UserIndex {
    /// Takes up a chunk, or the vector that a known one has got.
    pub(super) fn put(&mut self, row: &ChunkRow) -> Result<(), Full> {
        let place = match self.place(row.id) {
            Some(place) => place,
            None => self.add(row)?,
        };
        if let Some(vector) = &row.vector {
            let matrix = if row.is_previous { &mut self.previous } else { &mut self.matrix };
            if let Some(number) = matrix.put(place, vector) {
                self.clear_row(place);
                self.rows[place as usize] = Row { number, is_previous: row.is_previous };
            }
        }
        Ok(())
    }

    /// The place of a chunk that is alive.
    fn place(&self, id: i64) -> Option<ChunkNumber> {
        if let Some(place) = self.places.get(&id) {
            return Some(*place);
        }
        let place = self.ids[..self.in_file].binary_search(&id).ok()?;
        self.chunks[place].is_alive.then(|| u32::try_from(place).expect("there are no more than 2^24"))
    }

    /// Lets go of a chunk's vector.
    fn clear_row(&mut self, place: ChunkNumber) {
        let Row { number, is_previous } = self.rows[place as usize];
        if is_previous {
            self.previous.clear(number);
            if self.previous.is_dead() {
                self.previous = Matrix::default();
            }
        } else {
            self.matrix.clear(number);
        }
    }

    /// Lets go of every chunk that is not among `live`.
    pub(super) fn retain(&mut self, live: &HashSet<i64>) {
        for place in 0..self.chunks.len() {
            if !self.chunks[place].is_alive || live.contains(&self.ids[place]) {
                continue;
            }
            self.places.remove(&self.ids[place]);
            self.clear_row(u32::try_from(place).expect("there are no more than 2^24"));
            self.rows[place].number = NO_ROW;
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

    /// Whether so much of it is dead that it should be loaded anew. What is in a file is only skipped.
    pub(super) fn is_worn(&self) -> bool {
        const TOLERATED: usize = 1024;

        let dead = (self.chunks.len() - self.alive).max(self.matrix.dead()).max(self.previous.dead());
        self.in_file == 0 && dead > TOLERATED.max(self.alive / 2)
    }

    /// Lets go of all vectors, to be smaller.
    pub(super) fn drop_vectors(&mut self) {
        (self.matrix, self.previous) = (Matrix::default(), Matrix::default());
        self.rows.iter_mut().for_each(|row| row.number = NO_ROW);
    }

    /// Roughly how much memory it takes, without what is in files.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * BYTES_PER_CHUNK
            + self.places.len() * BYTES_PER_NEW_CHUNK
            + self.documents.len() * BYTES_PER_DOCUMENT
            + self.postings.bytes()
            + self.matrix.bytes()
            + self.previous.bytes()
    }

    /// Roughly how much memory it would not take if everything were in files that can be.
    pub(super) fn recent_bytes(&self) -> usize {
        self.postings.bytes() + self.matrix.recent_bytes() + self.previous.recent_bytes()
    }

    /// How many chunks there are.
    pub(super) fn len(&self) -> usize {
        self.alive
    }

    /// How many places there are; every place is smaller.
    pub(super) fn places(&self) -> usize {
        self.chunks.len()
    }

    /// How many documents have a place; every [`Chunk::document_place`] is smaller.
    pub(super) fn document_places(&self) -> usize {
        self.documents.len()
    }

    /// How many documents have a chunk that is alive.
    pub(super) fn documents(&self) -> usize {
        self.alive_documents
    }

    /// How many words all chunks have together.
    pub(super) fn words(&self) -> u64 {
        self.words
    }

    /// How many words the chunks of a document have together, by its place.
    pub(super) fn document_length(&self, place: u32) -> u32 {
        self.document_lengths[place as usize]
    }

    /// The chunk at a place, if it is alive.
    pub(super) fn chunk(&self, place: ChunkNumber) -> Option<&Chunk> {
        self.chunks.get(place as usize).filter(|chunk| chunk.is_alive)
    }

    /// Shows each chunk that has a word, as its analyzer writes it, and how often.
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

    /// The chunks that have all of these words, each as its analyzer writes them: the document of each, and its own id.
    pub(super) fn having_all(&self, words: &[QueryWord]) -> Vec<(i64, i64)> {
        let words: HashSet<_> = words.iter().collect();
        let mut counts = vec![0_u16; self.places()];
        for word in &words {
            self.visit(word, |place, _, _| counts[place as usize] += 1);
        }
        let of_analyzer = |analyzer| words.iter().filter(|word| word.term(analyzer).is_some()).count();
        let needed: BTreeMap<_, _> =
            self.analyzers.keys().map(|analyzer| (*analyzer, of_analyzer(*analyzer))).collect();
        let having = (0..).zip(counts).filter(|(_, count)| *count > 0).filter_map(|(place, count)| {
            let chunk = self.chunk(place).filter(|chunk| needed[&chunk.analyzer] == usize::from(count))?;
            Some((self.document_at(chunk.document), self.id_at(place)))
        });
        having.collect()
    }

    /// The documents that have a chunk.
    pub(super) fn all_documents(&self) -> impl Iterator<Item = i64> + '_ {
        let chunks = self.document_chunks.iter().zip(&self.documents);
        chunks.filter(|(chunks, _)| **chunks > 0).map(|(_, document)| *document)
    }

    /// Those that have made the terms of its chunks.
    pub(super) fn analyzers(&self) -> Analyzers {
        self.analyzers.iter().filter(|(_, count)| **count > 0).map(|(analyzer, _)| *analyzer).collect()
    }

    /// What made the terms of a chunk, by the database's name of it.
    pub(super) fn analyzer_of(&self, id: i64) -> Analyzer {
        self.place(id).map(|place| self.chunks[place as usize].analyzer).unwrap_or_default()
    }

    /// Whether there are chunks that only the previous model has read.
    pub(super) fn has_previous(&self) -> bool {
        self.previous.alive() > 0
    }

    /// How near chunks with a vector are to a query, those of documents that are `allowed` where that is given: the
    /// cosine with the query's vector. The nearest are enough if they are of `wanted` documents.
    ///
    /// With the `previous` model's vector of the query, chunks that only that model has read are there too, by cosines
    /// that are shifted and stretched to be spread over all chunks as those of the current model are.
    pub(super) fn cosines(
        &self,
        vector: &[f32],
        previous: Option<&[f32]>,
        allowed: Option<&HashSet<i64>>,
        wanted: usize,
    ) -> Cosines {
        let allowed: Option<Vec<bool>> = allowed.map(|allowed| {
            let is_allowed = |document| allowed.contains(document);
            self.documents.iter().map(is_allowed).collect()
        });
        let counts = |place: ChunkNumber| {
            let document = |place: ChunkNumber| self.chunks[place as usize].document as usize;
            // A chunk that went away has no row.
            allowed.as_ref().is_none_or(|allowed| allowed[document(place)])
        };
        let is_enough = |nearest: &[(ChunkNumber, f32)]| self.documents_of(nearest) >= wanted;
        let current = || self.matrix.products(vector, counts, is_enough);
        let Some(previous) = previous else { return current().into() };
        let of_previous = || self.previous.products(previous, counts, is_enough);
        match (self.matrix.spread(vector), self.previous.spread(previous)) {
            (Some(spread), Some(previous_spread)) => {
                let mapped =
                    |(place, product): (ChunkNumber, f32)| (place, previous_spread.mapped(product, spread));
                let (mut cosines, of_previous) = (Cosines::from(current()), of_previous());
                cosines.nearest.extend(of_previous.exact.into_iter().map(mapped));
                cosines.others.extend(of_previous.others.into_iter().map(mapped));
                cosines
            }
            // Too few of one kind to tell what their cosines mean.
            _ if self.previous.alive() > self.matrix.alive() => of_previous().into(),
            _ => current().into(),
        }
    }

    /// How many documents chunks are of.
    fn documents_of(&self, chunks: &[(ChunkNumber, f32)]) -> usize {
        let mut is_there = vec![false; self.documents.len()];
        let is_new = |(place, _): &&(ChunkNumber, f32)| {
            let document = self.chunks[*place as usize].document as usize;
            !std::mem::replace(&mut is_there[document], true)
        };
        chunks.iter().filter(is_new).count()
    }

    /// The database's name of the chunk at a place.
    pub(super) fn id_at(&self, place: ChunkNumber) -> i64 {
        self.ids[place as usize]
    }

    /// The database's name of the document at a place among documents.
    pub(super) fn document_at(&self, place: u32) -> i64 {
        self.documents[place as usize]
    }

    /// The place of a document, which is given to it where it has none.
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
        // What is no count of words can be found by meaning only.
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

    /// Gives a new chunk of the document at a place the next place. Its terms, its vector and what finds its place are not added.
    fn add_chunk(&mut self, id: i64, document: u32, analyzer: Analyzer, length: u32) {
        self.alive_documents += usize::from(self.document_chunks[document as usize] == 0);
        self.document_chunks[document as usize] += 1;
        self.document_lengths[document as usize] += length;
        self.chunks.push(Chunk { document, length, analyzer, is_alive: true });
        self.ids.push(id);
        self.rows.push(Row { number: NO_ROW, is_previous: false });
        self.alive += 1;
        self.words += u64::from(length);
        *self.analyzers.entry(analyzer).or_default() += 1;
    }
}

impl From<Products> for Cosines {
    fn from(Products { exact, others }: Products) -> Self {
        Self { nearest: exact, others }
    }
}

impl Chunk {
    /// The place of its document among the documents.
    pub(super) fn document_place(&self) -> u32 {
        self.document
    }
}
