//! BM25: how well passages match the words of a query. Only the user's own passages are counted.

use std::collections::HashSet;

use super::fusion::{Candidate, best_of_each_document};
use super::index::UserIndex;
use super::words::QueryWord;

/// How much a word that comes again still counts, and how much the length of a passage: what everybody
/// uses (Robertson and Zaragoza 2009). Not tuned.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The documents whose best passage matches best, best first: `depth` at most, of `allowed` where that is
/// given.
pub(super) fn rank(
    index: &UserIndex,
    words: &[QueryWord],
    allowed: Option<&HashSet<i64>>,
    depth: usize,
) -> Vec<Candidate> {
    let mut scores = vec![0_f32; index.places()];
    let average = index.average_length().max(1.0);
    for word in words {
        let weight = inverse_document_frequency(index.len(), index.having(word).count());
        for (place, count, chunk) in index.having(word) {
            let count = f32::from(count);
            #[expect(clippy::cast_precision_loss, reason = "a length is far below 2^23 words")]
            let length = chunk.length as f32 / average;
            scores[place as usize] += weight * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
        }
    }
    let matching = (0_u32..).zip(scores).filter(|(_, score)| *score > 0.0);
    best_of_each_document(index, matching, allowed, depth)
}

/// Never negative, also where most passages have the word.
fn inverse_document_frequency(passages: usize, having: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "both are below 2^24")]
    let (passages, having) = (passages as f32, having as f32);
    (1.0 + (passages - having + 0.5) / (having + 0.5)).ln()
}
