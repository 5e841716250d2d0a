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
mod matrix;
#[cfg(test)]
pub(super) mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) use self::matrix::EXACT;
use self::matrix::Matrix;
use super::store::ChunkRow;
use super::words::{self, Analyzer, Analyzers, Counted, QueryWord, Term};

/// Position of a chunk in its index.
pub(super) type ChunkNumber = u32;

/// The chunks of one user.
#[derive(Default)]
pub(super) struct UserIndex {
    chunks: Vec<Chunk>,
    places: HashMap<i64, ChunkNumber>,
    /// The documents that chunks are of, as the database names them.
    documents: Vec<i64>,
    /// How many words each of them has. What its passages share is counted in each: the overlap of neighbours, and the
    /// title.
    document_lengths: Vec<u32>,
    /// How many chunks of each are alive.
    document_chunks: Vec<u32>,
    alive_documents: usize,
    document_places: HashMap<i64, u32>,
    /// A term is a hash already, and a user who makes theirs collide slows down their own searches only.
    postings: HashMap<Term, Vec<Posting>, foldhash::fast::RandomState>,
    postings_count: usize,
    matrix: Matrix,
    /// Vectors that the previous model has made of chunks which the current one has not read.
    previous: Matrix,
    /// Chunks that are alive, and the words in them.
    alive: usize,
    words: u64,
    /// How many of them each analyzer made.
    analyzers: BTreeMap<Analyzer, usize>,
}

/// A chunk that is alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    id: i64,
    /// Its document's place, or [`DEAD`].
    document: u32,
    /// Its words, those of the title included.
    pub(super) length: u32,
    /// Its row in its matrix, or [`NO_ROW`].
    row: u32,
    /// Whether that is the matrix of the previous model.
    is_previous: bool,
    /// What made its terms.
    analyzer: Analyzer,
}

/// A chunk that has a word, in its upper 24 bits, and how often it has it, in the lower 8: to whoever
/// weighs it, 255 times is as good as more.
#[derive(Clone, Copy)]
struct Posting(u32);

/// Why a row was not taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

const DEAD: u32 = u32::MAX;
const NO_ROW: u32 = u32::MAX;
/// Places that a posting can name.
const MAX_CHUNKS: usize = 1 << 24;

/// What an index takes for each chunk and each word, besides vectors and postings: fields, and the
/// tables that find them.
const BYTES_PER_CHUNK: usize = 96;
const BYTES_PER_TERM: usize = 64;
/// Vectors of postings grow by doubling: on average a third is unused.
const BYTES_PER_POSTING: usize = 6;

impl UserIndex {
    /// Takes up a chunk, or the vector that a known one has got.
    pub(super) fn put(&mut self, row: &ChunkRow) -> Result<(), Full> {
        let place = match self.places.get(&row.id) {
            Some(place) => *place,
            None => self.add(row)?,
        };
        if let Some(vector) = &row.vector {
            let matrix = if row.is_previous { &mut self.previous } else { &mut self.matrix };
            if let Some(number) = matrix.put(place, vector) {
                self.clear_row(place);
                let chunk = &mut self.chunks[place as usize];
                (chunk.row, chunk.is_previous) = (number, row.is_previous);
            }
        }
        Ok(())
    }

    /// Lets go of a chunk's vector.
    fn clear_row(&mut self, place: ChunkNumber) {
        let chunk = &self.chunks[place as usize];
        if chunk.is_previous {
            self.previous.clear(chunk.row);
            if self.previous.is_dead() {
                self.previous = Matrix::default();
            }
        } else {
            self.matrix.clear(chunk.row);
        }
    }

    /// Lets go of every chunk that is not among `live`.
    pub(super) fn retain(&mut self, live: &HashSet<i64>) {
        let gone: Vec<_> = self.places.keys().filter(|id| !live.contains(id)).copied().collect();
        for id in gone {
            let place = self.places.remove(&id).expect("it was just found there");
            self.clear_row(place);
            let chunk = &mut self.chunks[place as usize];
            let document = std::mem::replace(&mut chunk.document, DEAD) as usize;
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

    /// Whether so much of it is dead that it should be loaded anew.
    pub(super) fn is_worn(&self) -> bool {
        const TOLERATED: usize = 1024;

        let dead = (self.chunks.len() - self.alive).max(self.matrix.dead()).max(self.previous.dead());
        dead > TOLERATED.max(self.alive / 2)
    }

    /// Lets go of all vectors, to be smaller.
    pub(super) fn drop_vectors(&mut self) {
        (self.matrix, self.previous) = (Matrix::default(), Matrix::default());
        self.chunks.iter_mut().for_each(|chunk| chunk.row = NO_ROW);
    }

    /// Roughly how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * BYTES_PER_CHUNK
            + self.postings.len() * BYTES_PER_TERM
            + self.postings_count * BYTES_PER_POSTING
            + self.matrix.bytes()
            + self.previous.bytes()
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
        self.chunks.get(place as usize).filter(|chunk| chunk.document != DEAD)
    }

    /// Shows each chunk that has a word, as its analyzer writes it, and how often.
    pub(super) fn visit(&self, word: &QueryWord, mut show: impl FnMut(ChunkNumber, u8, &Chunk)) {
        for (term, analyzers) in word.terms() {
            for posting in self.postings.get(&term).map(Vec::as_slice).unwrap_or_default() {
                let (place, count) = posting.parts();
                if let Some(chunk) = self.chunk(place)
                    && analyzers.contains(chunk.analyzer)
                {
                    show(place, count, chunk);
                }
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
            Some((self.document_at(chunk.document), chunk.id))
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
        self.places.get(&id).map(|place| self.chunks[*place as usize].analyzer).unwrap_or_default()
    }

    /// Whether there are chunks that only the previous model has read.
    pub(super) fn has_previous(&self) -> bool {
        self.previous.alive() > 0
    }

    /// How near chunks with a vector are to a query, those of documents that are `allowed` where that is given: the
    /// cosine with the query's vector. The nearest [`EXACT`] come first.
    ///
    /// With the `previous` model's vector of the query, chunks that only that model has read are there too, by cosines
    /// that are shifted and stretched to be spread over all chunks as those of the current model are.
    pub(super) fn cosines(
        &self,
        vector: &[f32],
        previous: Option<&[f32]>,
        allowed: Option<&HashSet<i64>>,
    ) -> Vec<(ChunkNumber, f32)> {
        let counts = |place| {
            // A chunk that went away has no row.
            allowed.is_none_or(|allowed| {
                let document = self.chunk(place).map(|chunk| self.document_at(chunk.document));
                document.is_some_and(|document| allowed.contains(&document))
            })
        };
        let Some(previous) = previous else { return self.matrix.products(vector, counts) };
        match (self.matrix.spread(vector), self.previous.spread(previous)) {
            (Some(spread), Some(previous_spread)) => {
                let of_previous = self.previous.products(previous, counts).into_iter();
                let mut cosines = self.matrix.products(vector, counts);
                cosines.extend(of_previous.map(|(place, it)| (place, previous_spread.mapped(it, spread))));
                matrix::greatest_first(&mut cosines);
                cosines
            }
            // Too few of one kind to tell what their cosines mean.
            _ if self.previous.alive() > self.matrix.alive() => self.previous.products(previous, counts),
            _ => self.matrix.products(vector, counts),
        }
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
            self.postings.entry(term).or_default().push(Posting::new(place, count));
            self.postings_count += 1;
        }
        self.add_chunk(row.id, row.document, analyzer, length);
        Ok(place)
    }

    /// Gives a new chunk the next place. Its terms and its vector are not added.
    fn add_chunk(&mut self, id: i64, document: i64, analyzer: Analyzer, length: u32) {
        let place = ChunkNumber::try_from(self.chunks.len()).expect("there are no more than 2^24");
        let document = self.document_place(document);
        self.alive_documents += usize::from(self.document_chunks[document as usize] == 0);
        self.document_chunks[document as usize] += 1;
        self.document_lengths[document as usize] += length;
        self.chunks.push(Chunk { id, document, length, row: NO_ROW, is_previous: false, analyzer });
        self.places.insert(id, place);
        self.alive += 1;
        self.words += u64::from(length);
        *self.analyzers.entry(analyzer).or_default() += 1;
    }
}

impl Chunk {
    /// The place of its document among the documents.
    pub(super) fn document_place(&self) -> u32 {
        self.document
    }

    /// The database's name of it.
    pub(super) fn id(&self) -> i64 {
        self.id
    }
}

impl Posting {
    fn new(place: ChunkNumber, count: u16) -> Self {
        Self(place << 8 | u32::from(count.min(0xff)))
    }

    fn parts(self) -> (ChunkNumber, u8) {
        (self.0 >> 8, self.0.to_le_bytes()[0])
    }
}
