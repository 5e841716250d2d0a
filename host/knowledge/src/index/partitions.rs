//! Partitions of an index's documents, for parallel full-text search.

use std::ops::Range;

use super::postings::place_and_count;
use super::{Chunk, ChunkNumber, UserIndex};
use crate::words::QueryWord;

/// Part of an index: some documents with all their chunks.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// Places of the documents.
    pub(crate) documents: Range<u32>,
    /// Places of their chunks from the index file, which are adjacent.
    pub(crate) in_file: Range<ChunkNumber>,
}

/// Indexes of fewer chunks form one partition: searching them takes less time than distributing the work.
pub(crate) const MIN_CHUNKS: usize = 20_000;

impl UserIndex {
    /// Splits the documents into at most `count` partitions.
    pub(crate) fn partitions(&self, count: usize) -> Vec<Partition> {
        let count = if self.chunks.len() < MIN_CHUNKS { 1 } else { count.max(1) };
        let documents = |number: usize| self.documents.len() * number / count;
        let in_file = |document: usize| {
            self.chunks[..self.in_file].partition_point(|chunk| (chunk.document as usize) < document)
        };
        let number = |number: usize| u32::try_from(number).expect("there are no more than 2^24");
        let partition = |place: usize| {
            let start = documents(place);
            let end = documents(place + 1);
            Partition {
                documents: number(start)..number(end),
                in_file: number(in_file(start))..number(in_file(end)),
            }
        };
        (0..count).map(partition).collect()
    }

    /// Number of chunks from the index file: the places of the other chunks follow.
    pub(crate) fn chunks_in_file(&self) -> ChunkNumber {
        u32::try_from(self.in_file).expect("there are no more than 2^24")
    }

    /// Calls `show` for each chunk of a partition that contains a word in the form of its own analyzer, with
    /// the term frequency.
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
