//! Several indexes, searched as one: chunks and documents have places among those of all of them.

use std::collections::{BTreeMap, HashSet};

use super::matrix::{MatrixPart, products};
use super::{Chunk, ChunkNumber, NO_ROW, UserIndex};
use crate::words::{Analyzer, Analyzers, QueryWord};

/// The indexes that a search may see, as one index. Places count through them in order.
pub(crate) struct Union<'i>(Vec<Part<'i>>);

/// An index, and the places of its first chunk and of its first document among those of all indexes.
#[derive(Clone, Copy)]
pub(crate) struct Part<'i> {
    pub(crate) index: &'i UserIndex,
    pub(crate) first_chunk: ChunkNumber,
    first_document: u32,
}

/// Chunks by similarity to a query.
#[derive(Debug, Default)]
pub(crate) struct Cosines {
    /// Chunks with the highest estimates, with exact cosines.
    pub(crate) nearest: Vec<(ChunkNumber, f32)>,
    /// All other chunks, with estimated cosines; empty if `nearest` covers enough documents.
    pub(crate) others: Vec<(ChunkNumber, f32)>,
    pub(crate) unread: Unread,
}

/// Documents, by their places, with a chunk that the model has not embedded; empty if there are none. They
/// are not compared at all: their other chunks do not say how near they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread(Vec<bool>);

impl<'i> Union<'i> {
    /// Indexes of different holders. Together they have at most as many chunks as a [`ChunkNumber`] counts: of 2^24
    /// chunks each, there are at most 255 of them.
    pub(crate) fn of(indexes: impl IntoIterator<Item = &'i UserIndex>) -> Self {
        let mut first_chunk = 0;
        let mut first_document = 0;
        let part = |index: &'i UserIndex| {
            let part = Part { index, first_chunk, first_document };
            first_chunk += number(index.places());
            first_document += number(index.documents.len());
            part
        };
        Self(indexes.into_iter().map(part).collect())
    }

    /// The indexes.
    pub(crate) fn parts(&self) -> &[Part<'i>] {
        &self.0
    }

    /// Number of live chunks.
    pub(crate) fn len(&self) -> usize {
        self.sum(UserIndex::len)
    }

    /// Number of documents with a live chunk.
    pub(crate) fn documents(&self) -> usize {
        self.sum(UserIndex::documents)
    }

    /// Total number of words of live chunks.
    pub(crate) fn words(&self) -> u64 {
        self.0.iter().map(|part| part.index.words()).sum()
    }

    /// Number of chunk places, dead chunks included.
    pub(crate) fn places(&self) -> usize {
        self.sum(UserIndex::places)
    }

    /// Number of document places.
    pub(crate) fn document_places(&self) -> usize {
        self.sum(|index| index.documents.len())
    }

    /// Analyzers of live chunks.
    pub(crate) fn analyzers(&self) -> Analyzers {
        let analyzers = self.0.iter().flat_map(|part| &part.index.analyzers);
        analyzers.filter(|(_, count)| **count > 0).map(|(analyzer, _)| *analyzer).collect()
    }

    /// Ids of documents with a live chunk.
    pub(crate) fn all_documents(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().flat_map(|part| part.index.all_documents())
    }

    /// Ids (document, chunk) of the chunks that contain all of these words, each word in the form of the
    /// chunk's analyzer.
    pub(crate) fn having_all(&self, words: &[QueryWord]) -> Vec<(i64, i64)> {
        let words: HashSet<_> = words.iter().collect();
        self.0.iter().flat_map(|part| part.index.having_all(&words)).collect()
    }

    /// Analyzer of a chunk, by its database id; the default one if there is no such chunk.
    pub(crate) fn analyzer_of(&self, id: i64) -> Analyzer {
        let of_part = |part: &Part<'_>| Some(part.index.chunks[part.index.place(id)? as usize].analyzer);
        self.0.iter().find_map(of_part).unwrap_or_default()
    }

    /// Place of the document of the chunk at a place, and the ids of both; `None` if the chunk is not live.
    pub(crate) fn document_of(&self, place: ChunkNumber) -> Option<u32> {
        let part = self.part_of(place);
        Some(part.first_document + part.index.chunk(place - part.first_chunk)?.document)
    }

    /// Database id of the chunk at a place.
    pub(crate) fn id_at(&self, place: ChunkNumber) -> i64 {
        let part = self.part_of(place);
        part.index.id_at(place - part.first_chunk)
    }

    /// Database ids of the documents, by their places.
    pub(crate) fn document_ids(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().flat_map(|part| &part.index.documents).copied()
    }

    /// Cosine similarities of chunks with a query's vector, restricted to documents that the model has read
    /// completely, and that are `allowed` if that is given. If the exact ones cover at least `wanted` documents, the
    /// others are not estimated.
    pub(crate) fn cosines(&self, vector: &[f32], allowed: Option<&HashSet<i64>>, wanted: usize) -> Cosines {
        let unread = self.unread();
        let allowed: Option<Vec<bool>> =
            allowed.map(|allowed| self.document_ids().map(|document| allowed.contains(&document)).collect());
        let documents = self.documents_by_chunk();
        let is_whole = unread.0.is_empty() && allowed.is_none();
        let counts = |place: ChunkNumber| {
            if is_whole {
                return true;
            }
            // A removed chunk has no row.
            let document = documents(place) as usize;
            !unread.has_place(document) && allowed.as_ref().is_none_or(|allowed| allowed[document])
        };
        let is_enough = |nearest: &[(ChunkNumber, f32)]| self.documents_of(nearest) >= wanted;
        let parts =
            self.0.iter().map(|part| MatrixPart { matrix: &part.index.matrix, first: part.first_chunk });
        let products = products(&parts.collect::<Vec<_>>(), vector, counts, is_enough);
        Cosines { nearest: products.exact, others: products.others, unread }
    }

    /// Whether a document, by its database id, is in `unread`.
    pub(crate) fn is_in(&self, unread: &Unread, document: i64) -> bool {
        if unread.0.is_empty() {
            return false;
        }
        let place = |part: &Part<'_>| Some(part.first_document + part.index.document_places.get(&document)?);
        self.0.iter().find_map(place).is_some_and(|place| unread.has_place(place as usize))
    }

    /// Vector of the chunk at a place.
    pub(crate) fn vector(&self, place: ChunkNumber) -> Option<Vec<f32>> {
        let part = self.part_of(place);
        part.index.matrix.vector(part.row(place)?)
    }

    /// Cosine similarities of the chunks at these places with a vector, in order; `None` if the model has not
    /// embedded all of them.
    pub(crate) fn cosines_of(&self, places: &[ChunkNumber], vector: &[f32]) -> Option<Vec<f32>> {
        let mut cosines = vec![0.0; places.len()];
        for part in &self.0 {
            let of_part = (0..places.len()).filter(|at| part.has(places[*at])).collect::<Vec<_>>();
            if of_part.is_empty() {
                continue;
            }
            let rows: Option<Vec<_>> = of_part.iter().map(|at| part.row(places[*at])).collect();
            let products = part.index.matrix.products_of(rows?.into_iter(), vector.to_vec());
            of_part.into_iter().zip(products).for_each(|(at, product)| cosines[at] = product);
        }
        Some(cosines)
    }

    /// Documents with a live chunk that has no vector.
    fn unread(&self) -> Unread {
        if self.0.iter().all(|part| part.index.matrix.alive() == part.index.alive) {
            return Unread::default();
        }
        let mut unread = vec![false; self.document_places()];
        for part in &self.0 {
            let documents = &mut unread[part.first_document as usize..];
            for (chunk, row) in part.index.chunks.iter().zip(&part.index.rows) {
                documents[chunk.document as usize] |= chunk.is_alive && *row == NO_ROW;
            }
        }
        Unread(unread)
    }

    /// Number of distinct documents of these chunks.
    fn documents_of(&self, chunks: &[(ChunkNumber, f32)]) -> usize {
        let documents = self.documents_by_chunk();
        let mut is_there = vec![false; self.document_places()];
        let is_new = |(place, _): &&(ChunkNumber, f32)| {
            !std::mem::replace(&mut is_there[documents(*place) as usize], true)
        };
        chunks.iter().filter(is_new).count()
    }

    /// Function from the place of a chunk, which may be dead, to the place of its document.
    fn documents_by_chunk(&self) -> impl Fn(ChunkNumber) -> u32 + Sync {
        |place| {
            let part = self.part_of(place);
            part.first_document + part.index.chunks[(place - part.first_chunk) as usize].document
        }
    }

    /// Index with the chunk at a place.
    fn part_of(&self, place: ChunkNumber) -> &Part<'i> {
        let after = self.0.partition_point(|part| part.first_chunk <= place);
        &self.0[after - 1]
    }

    fn sum(&self, count: impl Fn(&UserIndex) -> usize) -> usize {
        self.0.iter().map(|part| count(part.index)).sum()
    }
}

impl Part<'_> {
    fn has(&self, place: ChunkNumber) -> bool {
        place.checked_sub(self.first_chunk).is_some_and(|place| (place as usize) < self.index.places())
    }

    /// Row of the chunk at a place in the matrix.
    fn row(&self, place: ChunkNumber) -> Option<u32> {
        let row = *self.index.rows.get((place - self.first_chunk) as usize)?;
        (row != NO_ROW).then_some(row)
    }
}

impl UserIndex {
    fn having_all(&self, words: &HashSet<&QueryWord>) -> Vec<(i64, i64)> {
        let mut counts = vec![0_u16; self.places()];
        for word in words {
            self.visit(word, |place, _, _| counts[place as usize] += 1);
        }
        let of_analyzer = |analyzer| words.iter().filter(|word| word.term(analyzer).is_some()).count();
        let needed: BTreeMap<_, _> =
            self.analyzers.keys().map(|analyzer| (*analyzer, of_analyzer(*analyzer))).collect();
        let having = (0..).zip(counts).filter(|(_, count)| *count > 0).filter_map(|(place, count)| {
            let chunk: &Chunk =
                self.chunk(place).filter(|chunk| needed[&chunk.analyzer] == usize::from(count))?;
            Some((self.document_at(chunk.document), self.id_at(place)))
        });
        having.collect()
    }
}

#[cfg(test)]
impl UserIndex {
    /// This index alone.
    pub(crate) fn alone(&self) -> Union<'_> {
        Union::of([self])
    }
}

impl Unread {
    /// Number of documents with a live chunk that has no vector.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().filter(|is_unread| **is_unread).count()
    }

    fn has_place(&self, document: usize) -> bool {
        self.0.get(document).is_some_and(|is_unread| *is_unread)
    }
}

/// Number of chunks or documents of an index.
fn number(count: usize) -> u32 {
    u32::try_from(count).expect("there are no more than 2^24")
}
