//! Documents of an index in shares, so that several threads search by words at the same time.

use std::ops::Range;

use super::postings::place_and_count;
use super::{Chunk, ChunkNumber, UserIndex};
use crate::knowledge::words::QueryWord;

/// Some documents of an index, with all their chunks.
#[derive(Clone, Debug)]
pub(in crate::knowledge) struct Share {
    /// The documents, by their places.
    pub(in crate::knowledge) documents: Range<u32>,
    /// Those of their chunks that are of a file: they are beside each other.
    pub(in crate::knowledge) filed: Range<ChunkNumber>,
}

/// Indexes of fewer chunks are one share: they are searched in less time than it takes to share the work.
const MIN_CHUNKS: usize = 20_000;

impl UserIndex {
    /// All documents, in at most so many shares.
    pub(in crate::knowledge) fn shares(&self, count: usize) -> Vec<Share> {
        let count = if self.chunks.len() < MIN_CHUNKS { 1 } else { count.max(1) };
        let documents = |number: usize| self.documents.len() * number / count;
        let filed = |document: usize| {
            self.chunks[..self.filed].partition_point(|chunk| (chunk.document as usize) < document)
        };
        let number = |number: usize| u32::try_from(number).expect("there are no more than 2^24");
        let share = |place: usize| {
            let (start, end) = (documents(place), documents(place + 1));
            Share { documents: number(start)..number(end), filed: number(filed(start))..number(filed(end)) }
        };
        (0..count).map(share).collect()
    }

    /// How many chunks of a file there are: the places of the others follow.
    pub(in crate::knowledge) fn filed(&self) -> ChunkNumber {
        u32::try_from(self.filed).expect("there are no more than 2^24")
    }

    /// Shows each chunk of a share that has a word, as its analyzer writes it, and how often.
    pub(in crate::knowledge) fn visit_share(
        &self,
        share: &Share,
        word: &QueryWord,
        mut show: impl FnMut(ChunkNumber, u8, &Chunk),
    ) {
        for (term, analyzers) in word.terms() {
            for postings in self.postings.of(term) {
                let place = |posting: &_| place_and_count(*posting).0;
                let are_filed = postings.first().is_some_and(|first| place(first) < self.filed());
                let postings = if are_filed {
                    let start = postings.partition_point(|posting| place(posting) < share.filed.start);
                    let of_share = &postings[start..];
                    &of_share[..of_share.partition_point(|posting| place(posting) < share.filed.end)]
                } else {
                    postings
                };
                self.show(postings, analyzers, |place, count, chunk| {
                    if share.documents.contains(&chunk.document) {
                        show(place, count, chunk);
                    }
                });
            }
        }
    }
}
