//! BM25: how well documents match the words of a query. Only the user's own documents are counted.
//!
//! A document is scored as a whole and by its best passage, and both scores count alike. The whole has all words of a
//! document about the query, wherever they are; the passage is what a long document has on one subject among others.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::fusion::{BestChunk, Candidate, best_first, best_of};
use super::index::{ChunkNumber, Partition, UserIndex};
use super::words::QueryWord;

/// How much a word that comes again still counts, and how much the length of a text: what everybody
/// uses (Robertson and Zaragoza 2009). Not tuned.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The documents that match best, best first: `depth` at most, of `allowed` where that is given. A word counts
/// as often as `words` has it.
pub(super) fn rank(
    index: &UserIndex,
    words: &[QueryWord],
    allowed: Option<&HashSet<i64>>,
    depth: usize,
) -> Vec<Candidate> {
    let frequencies = frequencies(words);
    let partitions = index.partitions(rayon::current_num_threads());
    let counts = each(&partitions, |partition| counts(index, partition, &frequencies));
    let none = vec![Count::default(); frequencies.len()];
    let counts =
        counts.into_iter().fold(none, |sums, counts| sums.into_iter().zip(counts).map(Count::sum).collect());
    let passages = Texts::new(index.len(), index.words());
    let documents = Texts::new(index.documents(), index.words());
    let weighted: Vec<_> = frequencies
        .into_iter()
        .zip(counts)
        .map(|((word, frequency), count)| Weighted {
            word,
            of_passages: frequency * passages.inverse_document_frequency(count.passages),
            of_documents: frequency * documents.inverse_document_frequency(count.documents),
        })
        .collect();
    let rankings = each(&partitions, |partition| {
        let best = Scores::new(index, partition).best(&weighted, &passages, &documents);
        best_first(index, partition.documents.start, &best, allowed, depth)
    });
    best_of(rankings, depth)
}

/// Does the same with each partition, by several threads where there are several: a small index waits for nobody's threads.
fn each<T: Send>(partitions: &[Partition], work: impl Fn(&Partition) -> T + Send + Sync) -> Vec<T> {
    match partitions {
        [partition] => vec![work(partition)],
        partitions => partitions.par_iter().map(work).collect(),
    }
}

/// How many texts have a word.
#[derive(Clone, Copy, Default)]
struct Count {
    passages: usize,
    documents: usize,
}

impl Count {
    fn sum((one, other): (Self, Self)) -> Self {
        Self { passages: one.passages + other.passages, documents: one.documents + other.documents }
    }
}

fn counts(index: &UserIndex, partition: &Partition, words: &[(&QueryWord, f32)]) -> Vec<Count> {
    // The number of the last word that each document was found to have, from 1.
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

/// A word of a query, and how much it says in passages and in whole documents.
struct Weighted<'a> {
    word: &'a QueryWord,
    of_passages: f32,
    of_documents: f32,
}

/// The scores of a partition's texts.
struct Scores<'a> {
    index: &'a UserIndex,
    partition: &'a Partition,
    /// The chunks of a file, and then those of no file, of all partitions.
    passages: Vec<f32>,
    documents: Vec<f32>,
}

impl<'a> Scores<'a> {
    fn new(index: &'a UserIndex, partition: &'a Partition) -> Self {
        let others = index.places() - index.chunks_in_file() as usize;
        let passages = vec![0.0; partition.in_file.len() + others];
        Self { index, partition, passages, documents: vec![0.0; partition.documents.len()] }
    }

    /// The best passage of each document with any of the words, and the score of both.
    fn best(mut self, words: &[Weighted<'_>], passages: &Texts, documents: &Texts) -> Vec<BestChunk> {
        let Partition { documents: of_partition, in_file } = self.partition;
        let after = self.index.chunks_in_file();
        let mut counts = vec![0_u32; of_partition.len()];
        let mut having = Vec::new();
        for Weighted { word, of_passages, of_documents } in words {
            self.index.visit_partition(self.partition, word, |place, count, chunk| {
                let (place, count) = (place_in(in_file, after, place), u32::from(count));
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

/// Where the score of a passage of a partition is.
fn place_in(in_file: &std::ops::Range<ChunkNumber>, after: ChunkNumber, place: ChunkNumber) -> usize {
    let place =
        if place < after { place - in_file.start } else { place - after + (in_file.end - in_file.start) };
    place as usize
}

/// Texts among which a word is rare or common, and a text short or long: passages, or whole documents.
pub(super) struct Texts {
    count: usize,
    /// [`K1`] × [`B`], divided by the average length in words.
    per_word: f32,
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^24, and a mean needs no more")]
impl Texts {
    /// So many texts, with so many words in all.
    pub(super) fn new(count: usize, words: u64) -> Self {
        Self { count, per_word: K1 * B / (words as f32 / count.max(1) as f32).max(1.0) }
    }

    /// Never negative, also where most texts have the word.
    pub(super) fn inverse_document_frequency(&self, having: usize) -> f32 {
        let (count, having) = (self.count as f32, having as f32);
        (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
    }

    /// What a word gives a text of `length` words that has it `count` times.
    pub(super) fn gain(&self, count: u32, length: u32) -> f32 {
        let (count, length) = (count as f32, length as f32);
        count * (K1 + 1.0) / (count + K1 * (1.0 - B) + self.per_word * length)
    }
}

/// Each different word, in the order of the query, and how often it is there.
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
