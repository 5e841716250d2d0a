//! Fusion: one ranking of two, by words and by meaning.
//!
//! Scores are scaled so that the best of a ranking has 1 and the least that can be has 0, and added with fixed weights: a
//! convex combination (Bruch, Gai and Ingber 2023). Unlike ranks, scores tell a document that is far ahead from one
//! that is hardly better than the next.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::index::{ChunkNumber, Cosines, UserIndex};

/// How many documents of each ranking count. Not tuned.
pub(super) const DEPTH: usize = 1000;

/// The weight of meaning; the rest is that of words. Cosines of texts are all well above −1, so scaled ones differ
/// little, and need more weight. The paper's value for all collections, not tuned.
pub(super) const MEANING_WEIGHT: f64 = 0.8;

/// A document in one ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) document: i64,
    /// Its best chunk.
    pub(super) chunk: i64,
    /// Comparable within the ranking.
    pub(super) score: f32,
}

/// A document in the fused ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fused {
    pub(super) document: i64,
    /// The chunk with which it came higher; with which its words match, where both came as high.
    pub(super) chunk: i64,
    /// From 0 to 1.
    pub(super) score: f64,
}

/// Fuses rankings, best first: by words, with scores from 0, and by meaning, with cosines, which have this weight. Where one
/// is empty, the other one counts alone.
pub(super) fn fuse(words: &[Candidate], meaning: &[Candidate], meaning_weight: f64) -> Vec<Fused> {
    let rankings = [words, meaning].map(|ranking| &ranking[..ranking.len().min(DEPTH)]);
    let mut found = HashMap::<i64, Found>::new();
    for (which, ranking) in rankings.iter().enumerate() {
        for (rank, &Candidate { document, chunk, score }) in ranking.iter().enumerate() {
            let found = found.entry(document).or_insert(Found { scores: [None; 2], chunk, rank });
            found.scores[which] = Some(score);
            if rank < found.rank {
                (found.chunk, found.rank) = (chunk, rank);
            }
        }
    }
    let scales = scales(rankings, meaning_weight);
    let fused = |(document, found): (i64, Found)| {
        let score = scales.iter().zip(found.scores).map(|(scale, score)| scale.weighted(score)).sum();
        Fused { document, chunk: found.chunk, score }
    };
    let mut fused: Vec<_> = found.into_iter().map(fused).collect();
    fused.sort_unstable_by(|one, other| {
        other.score.total_cmp(&one.score).then(newest_first(one.document, other.document))
    });
    fused
}

/// A document in one ranking or both.
struct Found {
    /// By words, and by meaning.
    scores: [Option<f32>; 2],
    chunk: i64,
    /// The better one.
    rank: usize,
}

/// How the scores of a ranking count.
struct Scale {
    weight: f64,
    /// What counts nothing, and what counts as much as `weight`.
    range: Range<f32>,
    /// The score of documents that the ranking has not.
    missing: f32,
}

impl Scale {
    fn weighted(&self, score: Option<f32>) -> f64 {
        let Range { start, end } = self.range;
        let share = (score.unwrap_or(self.missing) - start) / (end - start);
        // Not a number where the best is as bad as can be.
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
            // Other documents have none of the words, or match worse than all that there was room for.
            missing: if words.len() < DEPTH { 0.0 } else { last(words) },
        },
        // Other documents are less near than all that there was room for, or not embedded yet: then nothing can be
        // said of them, for or against.
        Scale { weight, range: -1.0..best(meaning), missing: last(meaning) },
    ]
}

/// A document's best chunk, by its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct BestChunk {
    place: ChunkNumber,
    pub(super) score: f32,
}

impl BestChunk {
    /// Of a document that matches nothing.
    pub(super) const NONE: Self = Self { place: 0, score: f32::NEG_INFINITY };

    /// Whether the document matches.
    fn is_some(self) -> bool {
        self.score > f32::NEG_INFINITY
    }

    /// Replaces it by a better chunk; of chunks that are as good, the one that came first stays.
    pub(super) fn improve(&mut self, place: ChunkNumber, score: f32) {
        if self.score < score || self.score <= score && place < self.place {
            *self = Self { place, score };
        }
    }
}

/// The best chunk of each document, by the document's place. Scores that are no numbers are left out.
fn best_chunks(index: &UserIndex, chunks: &[(ChunkNumber, f32)]) -> Vec<BestChunk> {
    let mut best = vec![BestChunk::NONE; index.document_places()];
    for (place, score) in chunks.iter().filter(|(_, score)| score.is_finite()) {
        if let Some(chunk) = index.chunk(*place) {
            best[chunk.document_place() as usize].improve(*place, *score);
        }
    }
    best
}

/// The documents with a best chunk, best first: `depth` at most, of `allowed` where that is given. `best` is in the order
/// of their places, from `first` on.
pub(super) fn best_first(
    index: &UserIndex,
    first: u32,
    best: &[BestChunk],
    allowed: Option<&HashSet<i64>>,
    depth: usize,
) -> Vec<Candidate> {
    let matching = (first..).zip(best).filter(|(_, best)| best.is_some());
    let candidates = matching.filter_map(|(document, best)| {
        let document = index.document_at(document);
        let is_allowed = allowed.is_none_or(|allowed| allowed.contains(&document));
        is_allowed.then(|| Candidate { document, chunk: index.id_at(best.place), score: best.score })
    });
    first_of(candidates.collect(), depth)
}

/// One ranking of several, best first: `depth` documents at most.
pub(super) fn best_of(rankings: Vec<Vec<Candidate>>, depth: usize) -> Vec<Candidate> {
    match <[_; 1]>::try_from(rankings) {
        Ok([ranking]) => ranking,
        Err(rankings) => first_of(rankings.concat(), depth),
    }
}

fn first_of(mut ranking: Vec<Candidate>, depth: usize) -> Vec<Candidate> {
    let order = |one: &Candidate, other: &Candidate| {
        other.score.total_cmp(&one.score).then_with(|| newest_first(one.document, other.document))
    };
    if depth < ranking.len() {
        ranking.select_nth_unstable_by(depth, order);
        ranking.truncate(depth);
    }
    ranking.sort_unstable_by(order);
    ranking
}

/// The documents with the nearest chunks, nearest first: `depth` at most. Documents with an estimate alone come after all
/// others.
pub(super) fn nearest_first(index: &UserIndex, cosines: &Cosines, depth: usize) -> Vec<Candidate> {
    let mut best = best_chunks(index, &cosines.nearest);
    if !cosines.others.is_empty() {
        let scores = best.iter().filter(|best| best.is_some()).map(|best| best.score);
        let least = scores.fold(f32::INFINITY, f32::min);
        for (best, mut other) in best.iter_mut().zip(best_chunks(index, &cosines.others)) {
            if !best.is_some() {
                other.score = other.score.min(least);
                *best = other;
            }
        }
    }
    best_first(index, 0, &best, None, depth)
}

fn newest_first(one: i64, other: i64) -> Ordering {
    other.cmp(&one)
}
