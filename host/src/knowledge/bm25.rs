//! BM25: how well documents match the words of a query. Only the user's own documents are counted.
//!
//! A document is scored as a whole and by its best passage, and both scores count alike. The whole has all words of a
//! document about the query, wherever they are; the passage is what a long document has on one subject among others.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use super::fusion::{Candidate, best_chunks, best_first};
use super::index::UserIndex;
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
    let passages = Texts::new(index.len(), index.words());
    let documents = Texts::new(index.documents(), index.words());
    let mut passage_scores = vec![0_f32; index.places()];
    let mut document_scores = vec![0_f32; index.document_places()];
    let mut counts = vec![0_u32; index.document_places()];
    let (mut passages_having, mut documents_having) = (Vec::new(), Vec::new());
    for (word, frequency) in frequencies(words) {
        index.visit(word, |place, count, chunk| {
            passages_having.push((place, u32::from(count), chunk.length, chunk.document_place()));
        });
        let weight = frequency * passages.inverse_document_frequency(passages_having.len());
        for (place, count, length, document) in passages_having.drain(..) {
            passage_scores[place as usize] += weight * passages.gain(count, length);
            if counts[document as usize] == 0 {
                documents_having.push(document);
            }
            counts[document as usize] += count;
        }
        let weight = frequency * documents.inverse_document_frequency(documents_having.len());
        for document in documents_having.drain(..) {
            let count = std::mem::take(&mut counts[document as usize]);
            document_scores[document as usize] +=
                weight * documents.gain(count, index.document_length(document));
        }
    }
    let matching = (0_u32..).zip(passage_scores).filter(|(_, score)| *score > 0.0);
    let mut best = best_chunks(index, matching);
    for (best, score) in best.iter_mut().zip(document_scores) {
        best.score += score;
    }
    best_first(index, &best, allowed, depth)
}

/// Texts among which a word is rare or common, and a text short or long: passages, or whole documents.
struct Texts {
    count: usize,
    /// [`K1`] × [`B`], divided by the average length in words.
    per_word: f32,
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^24, and a mean needs no more")]
impl Texts {
    fn new(count: usize, words: u64) -> Self {
        Self { count, per_word: K1 * B / (words as f32 / count.max(1) as f32).max(1.0) }
    }

    /// Never negative, also where most texts have the word.
    fn inverse_document_frequency(&self, having: usize) -> f32 {
        let (count, having) = (self.count as f32, having as f32);
        (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
    }

    /// What a word gives a text of `length` words that has it `count` times.
    fn gain(&self, count: u32, length: u32) -> f32 {
        let (count, length) = (count as f32, length as f32);
        count * (K1 + 1.0) / (count + K1 * (1.0 - B) + self.per_word * length)
    }
}

/// Each different word, in the order of the query, and how often it is there.
fn frequencies(words: &[QueryWord]) -> Vec<(&QueryWord, f32)> {
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
