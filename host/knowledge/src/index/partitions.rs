//! Documents of an index in partitions, so that several threads search by words at the same time.

use std::ops::Range;

use super::postings::place_and_count;
use super::{Chunk, ChunkNumber, UserIndex};
use crate::words::QueryWord;

/// Some documents of an index, with all their chunks.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// The documents, by their places.
    pub(crate) documents: Range<u32>,
    /// Those of their chunks that are of a file: they are beside each other.
    pub(crate) in_file: Range<ChunkNumber>,
}

/// Indexes of fewer chunks are one partition: they are searched in less time than it takes to partition the work.
const MIN_CHUNKS: usize = 20_000;

impl UserIndex {
    /// All documents, in at most so many partitions.
    pub(crate) fn partitions(&self, count: usize) -> Vec<Partition> {
        let count = if self.chunks.len() < MIN_CHUNKS { 1 } else { count.max(1) };
        let documents = |number: usize| self.documents.len() * number / count;
        let in_file = |document: usize| {
            self.chunks[..self.in_file].partition_point(|chunk| (chunk.document as usize) < document)
        };
        let number = |number: usize| u32::try_from(number).expect("there are no more than 2^24");
        let partition = |place: usize| {
            let (start, end) = (documents(place), documents(place + 1));
            Partition {
                documents: number(start)..number(end),
                in_file: number(in_file(start))..number(in_file(end)),
            }
        };
        (0..count).map(partition).collect()
    }

    /// How many chunks of a file there are: the places of the others follow.
    pub(crate) fn chunks_in_file(&self) -> ChunkNumber {
        u32::try_from(self.in_file).expect("there are no more than 2^24")
    }

    /// Shows each chunk of a partition that has a word, as its analyzer writes it, and how often.
    pub(crate) fn visit_partition(
        &self,
        partition: &Partition,
        word: &QueryWord,
        mut show: impl FnMut(ChunkNumber, u8, &Chunk),
    ) {
        for (term, analyzers) in word.terms() {
            for postings in self.postings.of(term) {
                let place = |posting: &_| place_and_count(*posting).0;
                let are_filed = postings.first().is_some_and(|first| place(first) < self.chunks_in_file());
                let postings = if are_filed {
                    let start = postings.partition_point(|posting| place(posting) < partition.in_file.start);
                    let of_partition = &postings[start..];
                    &of_partition
                        [..of_partition.partition_point(|posting| place(posting) < partition.in_file.end)]
                } else {
                    postings
                };
                self.show(postings, analyzers, |place, count, chunk| {
                    if partition.documents.contains(&chunk.document) {
                        show(place, count, chunk);
                    }
                });
            }
        }
    }
}
