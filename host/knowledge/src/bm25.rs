//! BM25: full-text relevance of documents to a query. Statistics cover all documents that the search may see, and
//! no others.
//!
//! A document's score is the sum of two: that of the whole document and that of its best passage. The first
//! counts query words wherever they are in the document; the second finds a long document that treats the
//! subject in one place.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::fusion::{BestChunk, Candidate, best_of, first_of};
use super::index::{ChunkNumber, MIN_CHUNKS, Partition, Union, UserIndex};
use super::words::QueryWord;

/// BM25 parameters: term frequency saturation, and length normalisation. Common values (Robertson and
/// Zaragoza 2009), not tuned.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Returns the best documents, best first: at most `depth`, restricted to `allowed` if that is given. A word
/// that occurs several times in `words` has that many times the weight. Scores are shares of the score of a
/// document that is full of all the words, 0 to 1: comparable between queries.
pub(super) fn rank(
    union: &Union<'_>,
    words: &[QueryWord],
    allowed: Option<&HashSet<i64>>,
    depth: usize,
) -> Vec<Candidate> {
    let frequencies = frequencies(words);
    let shares = shares(union);
    let counts = each(union, &shares, |share| counts(share, &frequencies));
    let none = vec![Count::default(); frequencies.len()];
    let counts = counts.into_iter().fold(none, |sums, counts| {
        sums.into_iter().zip(counts).map(|(one, other)| one.plus(other)).collect()
    });
    let passages = Texts::new(union.len(), union.words());
    let documents = Texts::new(union.documents(), union.words());
    let weighted: Vec<_> = frequencies
        .into_iter()
        .zip(counts)
        .map(|((word, frequency), count)| Weighted {
            word,
            of_passages: frequency * passages.inverse_document_frequency(count.passages),
            of_documents: frequency * documents.inverse_document_frequency(count.documents),
        })
        .collect();
    let most: f32 = weighted.iter().map(|word| (word.of_passages + word.of_documents) * (K1 + 1.0)).sum();
    let rankings = each(union, &shares, |share| {
        let mut best = Scores::new(share).best(&weighted, &passages, &documents);
        let Share { index, partition } = share;
        let first = partition.documents.start;
        let scored = (first..).zip(&mut best).filter(|(_, best)| best.is_some());
        let candidates = scored.map(|(document, best)| Candidate {
            document: index.document_at(document),
            chunk: index.id_at(best.place),
            score: best.score / most,
        });
        first_of(
            candidates.filter(|found| allowed.is_none_or(|it| it.contains(&found.document))).collect(),
            depth,
        )
    });
    best_of(rankings, depth)
}

/// A partition of one of the indexes.
struct Share<'i> {
    index: &'i UserIndex,
    partition: Partition,
}

/// All partitions of all indexes.
fn shares<'i>(union: &Union<'i>) -> Vec<Share<'i>> {
    let of_index = |index: &'i UserIndex| {
        let partitions = index.partitions(rayon::current_num_threads());
        partitions.into_iter().map(move |partition| Share { index, partition })
    };
    union.parts().iter().flat_map(|part| of_index(part.index)).collect()
}

/// Maps each share, in parallel if there is much: what is small does not wait for the thread pool.
fn each<'i, T: Send>(
    union: &Union<'_>,
    shares: &[Share<'i>],
    work: impl Fn(&Share<'i>) -> T + Send + Sync,
) -> Vec<T> {
    if union.places() < MIN_CHUNKS || shares.len() == 1 {
        shares.iter().map(work).collect()
    } else {
        shares.par_iter().map(work).collect()
    }
}

/// Document frequencies of a word: numbers of passages and of documents that contain it.
#[derive(Clone, Copy, Default)]
struct Count {
    passages: usize,
    documents: usize,
}

impl Count {
    fn plus(self, other: Self) -> Self {
        Self { passages: self.passages + other.passages, documents: self.documents + other.documents }
    }
}

fn counts(Share { index, partition }: &Share<'_>, words: &[(&QueryWord, f32)]) -> Vec<Count> {
    // Number (from 1) of the last word that was found in each document.
    let mut last_words = vec![0_u32; partition.documents.len()];
    let counts = words.iter().zip(1..).map(|((word, _), number)| {
        let mut count = Count::default();
        index.visit_partition(partition, word, |_, _, chunk| {
            count.passages += 1;
            let last = &mut last_words[(chunk.document_place() - partition.documents.start) as usize];
            count.documents += usize::from(std::mem::replace(last, number) != number);
        });
        count
    });
    counts.collect()
}

/// Query word with its weights in passages and in whole documents.
struct Weighted<'a> {
    word: &'a QueryWord,
    of_passages: f32,
    of_documents: f32,
}

/// BM25 scores of the texts of a partition.
struct Scores<'a> {
    index: &'a UserIndex,
    partition: &'a Partition,
    /// Scores of the partition's chunks in the index file, followed by those of all chunks that are in no
    /// file, of any partition.
    passages: Vec<f32>,
    documents: Vec<f32>,
}

impl<'a> Scores<'a> {
    fn new(Share { index, partition }: &'a Share<'_>) -> Self {
        let others = index.places() - index.chunks_in_file() as usize;
        let passages = vec![0.0; partition.in_file.len() + others];
        Self { index, partition, passages, documents: vec![0.0; partition.documents.len()] }
    }

    /// Returns the best passage of each document that contains any of the words; its score is that of the
    /// passage plus that of the document.
    fn best(mut self, words: &[Weighted<'_>], passages: &Texts, documents: &Texts) -> Vec<BestChunk> {
        let Partition { documents: of_partition, in_file } = self.partition;
        let after = self.index.chunks_in_file();
        let mut counts = vec![0_u32; of_partition.len()];
        let mut having = Vec::new();
        for Weighted { word, of_passages, of_documents } in words {
            self.index.visit_partition(self.partition, word, |place, count, chunk| {
                let place = place_in(in_file, after, place);
                let count = u32::from(count);
                self.passages[place] += of_passages * passages.gain(count, chunk.length);
                let document = chunk.document_place() - of_partition.start;
                if counts[document as usize] == 0 {
                    having.push(document);
                }
                counts[document as usize] += count;
            });
            for document in having.drain(..) {
                let count = std::mem::take(&mut counts[document as usize]);
                let length = self.index.document_length(of_partition.start + document);
                self.documents[document as usize] += of_documents * documents.gain(count, length);
            }
        }
        let places = in_file.clone().chain(after..);
        let matching = places.zip(&self.passages).filter(|(_, score)| **score > 0.0);
        let mut best = vec![BestChunk::NONE; of_partition.len()];
        for (place, score) in matching {
            if let Some(chunk) = self.index.chunk(place) {
                best[(chunk.document_place() - of_partition.start) as usize].improve(place, *score);
            }
        }
        for (best, score) in best.iter_mut().zip(self.documents) {
            best.score += score;
        }
        best
    }
}

/// Position of a passage's score in the scores of a partition.
fn place_in(in_file: &std::ops::Range<ChunkNumber>, after: ChunkNumber, place: ChunkNumber) -> usize {
    let place =
        if place < after { place - in_file.start } else { place - after + (in_file.end - in_file.start) };
    place as usize
}

/// Statistics of a collection of texts (passages or whole documents), for document frequencies and length
/// normalisation.
pub(super) struct Texts {
    count: usize,
    /// [`K1`] × [`B`], divided by the average length in words.
    per_word: f32,
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^24, and a mean needs no more")]
impl Texts {
    /// Statistics of `count` texts with `words` words in total.
    pub(super) fn new(count: usize, words: u64) -> Self {
        Self { count, per_word: K1 * B / (words as f32 / count.max(1) as f32).max(1.0) }
    }

    /// Inverse document frequency. Never negative, even if most texts contain the word.
    pub(super) fn inverse_document_frequency(&self, having: usize) -> f32 {
        let count = self.count as f32;
        let having = having as f32;
        (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
    }

    /// BM25 term weight (without IDF) of a word that occurs `count` times in a text of `length` words.
    pub(super) fn gain(&self, count: u32, length: u32) -> f32 {
        let count = count as f32;
        let length = length as f32;
        count * (K1 + 1.0) / (count + K1 * (1.0 - B) + self.per_word * length)
    }
}

/// Distinct words of a query, in the order of first occurrence, with their frequencies.
pub(super) fn frequencies(words: &[QueryWord]) -> Vec<(&QueryWord, f32)> {
    let mut places = HashMap::new();
    let mut frequencies = Vec::<(&QueryWord, f32)>::new();
    for word in words {
        let place = *places.entry(word).or_insert(frequencies.len());
        match frequencies.get_mut(place) {
            Some((_, frequency)) => *frequency += 1.0,
            None => frequencies.push((word, 1.0)),
        }
    }
    frequencies
}
