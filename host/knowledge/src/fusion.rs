//! Fusion of two rankings, full-text and semantic, into one.
//!
//! Scores are scaled so that the best score of a ranking is 1 and the least possible one is 0, and are added
//! with fixed weights: a convex combination (Bruch, Gai and Ingber 2023). Unlike ranks, scores distinguish a
//! document that is far ahead from one that is hardly better than the next.
//!
//! Invariant: a document that no model has read keeps the place that its words give it. Documents that were
//! read change places with each other only, so a few of them cannot lead a query (docs/decisions/0089).

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use super::index::{ChunkNumber, Cosines, Union};

/// Number of documents of each ranking that are used. Not tuned.
pub(super) const DEPTH: usize = 1000;

/// Weight of the semantic ranking; the full-text ranking has the rest. Cosines of texts are all well above
/// −1, so scaled ones differ little, and need more weight. The paper's value for all collections, not tuned.
pub(super) const MEANING_WEIGHT: f64 = 0.8;

/// Relevance below which a document is no good match: 3 of 330 questions with an answer have nothing above it, and
/// 1 of 780 without one has (docs/decisions/0090).
pub(super) const FLOOR: f64 = 0.4;

/// Exponent that maps shares of words to the scale of [`relevance`]: a tenth is at the floor.
const WORDS_ALONE: i32 = 5;

/// A document in one ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) document: i64,
    /// Best chunk of the document.
    pub(super) chunk: i64,
    /// Score; comparable only within its ranking.
    pub(super) score: f32,
}

/// A document in the fused ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fused {
    pub(super) document: i64,
    /// Chunk from the ranking in which the document has the better rank; at equal ranks, the one from the
    /// full-text ranking.
    pub(super) chunk: i64,
    /// Relevance, 0 to 1, comparable between queries: see [`relevance`].
    pub(super) score: f64,
}

/// Fuses two rankings. `words` has scores from 0 to 1; `meaning` has cosines and the weight `meaning_weight`. If
/// one is empty, the other has the full weight. Documents for which `is_unread` holds stay at their places in
/// `words`; all others are sorted by their fused scores.
pub(super) fn fuse(
    words: &[Candidate],
    meaning: &[Candidate],
    meaning_weight: f64,
    is_unread: impl Fn(i64) -> bool,
) -> Vec<Fused> {
    let [words, meaning] = [words, meaning].map(|ranking| &ranking[..ranking.len().min(DEPTH)]);
    let mut found = HashMap::<i64, Found>::new();
    for (which, ranking) in [words, meaning].iter().enumerate() {
        for (rank, &Candidate { document, chunk, score }) in ranking.iter().enumerate() {
            let found = found.entry(document).or_insert(Found { scores: [None; 2], chunk, rank });
            found.scores[which] = Some(score);
            if rank < found.rank {
                (found.chunk, found.rank) = (chunk, rank);
            }
        }
    }
    let scales = scales([words, meaning], meaning_weight);
    let least = meaning.last().map(|last| last.score);
    let mut unread = HashMap::new();
    let mut read = Vec::new();
    for (document, Found { scores, chunk, .. }) in found {
        let [words, cosine] = scores;
        let fused = |cosine| Fused { document, chunk, score: relevance(words, cosine, meaning_weight) };
        if is_unread(document) {
            unread.insert(document, fused(None));
        } else {
            let order: f64 = scales.iter().zip(scores).map(|(scale, score)| scale.weighted(score)).sum();
            read.push((order, fused(cosine.or(least))));
        }
    }
    read.sort_unstable_by(|(one, first), (other, second)| {
        other.total_cmp(one).then(newest_first(first.document, second.document))
    });
    in_places(words, &unread, read.into_iter().map(|(_, found)| found).collect())
}

/// Relevance of a document, 0 to 1, from its score by words and its cosine. Neither depends on what else was
/// found. Without a cosine, words count alone.
fn relevance(words: Option<f32>, cosine: Option<f32>, meaning_weight: f64) -> f64 {
    let [words, cosine] = [words, cosine].map(|score| score.map(|score| f64::from(score).clamp(0.0, 1.0)));
    let words = words.unwrap_or_default();
    match cosine {
        Some(cosine) => (1.0 - meaning_weight) * words + meaning_weight * cosine,
        None => 1.0 - (1.0 - words).powi(WORDS_ALONE),
    }
}

/// Raises scores to those that follow, so that they descend as the ranking does.
pub(super) fn make_descending(ranking: &mut [Fused]) {
    let mut most = 0.0_f64;
    for found in ranking.iter_mut().rev() {
        most = most.max(found.score);
        found.score = most;
    }
}

/// Puts unread documents at their places in `words`, and the others into the places between them, in order.
fn in_places(words: &[Candidate], unread: &HashMap<i64, Fused>, read: Vec<Fused>) -> Vec<Fused> {
    if unread.is_empty() {
        return read;
    }
    let mut read = read.into_iter();
    let places =
        words.iter().filter_map(|place| unread.get(&place.document).copied().or_else(|| read.next()));
    let mut fused: Vec<_> = places.collect();
    fused.extend(read);
    fused
}

/// A document in one ranking or both.
struct Found {
    /// Full-text score, and cosine.
    scores: [Option<f32>; 2],
    chunk: i64,
    /// Better of the two ranks.
    rank: usize,
}

/// Scaling of the scores of a ranking.
struct Scale {
    weight: f64,
    /// Score range that is mapped to 0 and to `weight`.
    range: Range<f32>,
    /// Score assumed for documents that the ranking does not contain.
    missing: f32,
}

impl Scale {
    fn weighted(&self, score: Option<f32>) -> f64 {
        let Range { start, end } = self.range;
        let share = (score.unwrap_or(self.missing) - start) / (end - start);
        // NaN if the best score is the least possible one.
        if share.is_nan() { 0.0 } else { self.weight * f64::from(share.clamp(0.0, 1.0)) }
    }
}

fn scales([words, meaning]: [&[Candidate]; 2], meaning_weight: f64) -> [Scale; 2] {
    let weight = match (words, meaning) {
        (_, []) => 0.0,
        ([], _) => 1.0,
        _ => meaning_weight,
    };
    let best = |ranking: &[Candidate]| ranking.first().map_or(0.0, |first| first.score);
    let last = |ranking: &[Candidate]| ranking.last().map_or(0.0, |last| last.score);
    [
        Scale {
            weight: 1.0 - weight,
            range: 0.0..best(words),
            // Other documents contain none of the words, or score lower than all `DEPTH` documents.
            missing: if words.len() < DEPTH { 0.0 } else { last(words) },
        },
        // Other documents are less similar than all `DEPTH` documents.
        Scale { weight, range: -1.0..best(meaning), missing: last(meaning) },
    ]
}

/// Best chunk of a document, by its place in the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct BestChunk {
    pub(super) place: ChunkNumber,
    pub(super) score: f32,
}

impl BestChunk {
    /// Placeholder of a document without a match.
    pub(super) const NONE: Self = Self { place: 0, score: f32::NEG_INFINITY };

    /// Whether the document matches.
    pub(super) fn is_some(self) -> bool {
        self.score > f32::NEG_INFINITY
    }

    /// Replaces the chunk by a better one; at equal scores, the lower place wins.
    pub(super) fn improve(&mut self, place: ChunkNumber, score: f32) {
        if self.score < score || self.score <= score && place < self.place {
            *self = Self { place, score };
        }
    }
}

/// Best chunk of each document, indexed by the document's place. Scores that are not finite are ignored.
fn best_chunks(union: &Union<'_>, chunks: &[(ChunkNumber, f32)]) -> Vec<BestChunk> {
    let mut best = vec![BestChunk::NONE; union.document_places()];
    for (place, score) in chunks.iter().filter(|(_, score)| score.is_finite()) {
        if let Some(document) = union.document_of(*place) {
            best[document as usize].improve(*place, *score);
        }
    }
    best
}

/// Merges rankings, best first: at most `depth` documents.
pub(super) fn best_of(rankings: Vec<Vec<Candidate>>, depth: usize) -> Vec<Candidate> {
    match <[_; 1]>::try_from(rankings) {
        Ok([ranking]) => ranking,
        Err(rankings) => first_of(rankings.concat(), depth),
    }
}

/// Sorts documents by score, descending: at most `depth`.
pub(super) fn first_of(ranking: Vec<Candidate>, depth: usize) -> Vec<Candidate> {
    first_by(ranking, depth, |candidate| candidate)
}

/// Sorts by the scores of candidates, descending: at most `depth`.
fn first_by<T>(mut ranking: Vec<T>, depth: usize, candidate: impl Fn(&T) -> &Candidate) -> Vec<T> {
    let order = |one: &T, other: &T| {
        let one = candidate(one);
        let other = candidate(other);
        other.score.total_cmp(&one.score).then_with(|| newest_first(one.document, other.document))
    };
    if depth < ranking.len() {
        ranking.select_nth_unstable_by(depth, order);
        ranking.truncate(depth);
    }
    ranking.sort_unstable_by(order);
    ranking
}

/// A document in the semantic ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nearest {
    pub(super) found: Candidate,
    /// Place of the document's nearest chunk.
    pub(super) place: ChunkNumber,
}

/// Documents sorted by the cosine of their nearest chunk, descending: at most `depth`. Documents that have
/// only estimates come last.
pub(super) fn nearest_first(union: &Union<'_>, cosines: &Cosines, depth: usize) -> Vec<Nearest> {
    let mut best = best_chunks(union, &cosines.nearest);
    if !cosines.others.is_empty() {
        let scores = best.iter().filter(|best| best.is_some()).map(|best| best.score);
        let least = scores.fold(f32::INFINITY, f32::min);
        for (best, mut other) in best.iter_mut().zip(best_chunks(union, &cosines.others)) {
            if !best.is_some() {
                other.score = other.score.min(least);
                *best = other;
            }
        }
    }
    let documents = union.document_ids().zip(best).filter(|(_, best)| best.is_some());
    let nearest = documents.map(|(document, BestChunk { place, score })| Nearest {
        found: Candidate { document, chunk: union.id_at(place), score },
        place,
    });
    first_by(nearest.collect(), depth, |nearest| &nearest.found)
}

fn newest_first(one: i64, other: i64) -> Ordering {
    other.cmp(&one)
}
