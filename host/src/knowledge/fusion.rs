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

use super::index::{ChunkNumber, EXACT, UserIndex};

/// How many documents of each ranking count. Not tuned.
pub(super) const DEPTH: usize = 1000;

/// The weight of meaning; the rest is that of words. Cosines of texts are all well above −1, so scaled ones differ
/// little, and need more weight. The paper's value for all collections, not tuned.
const MEANING_WEIGHT: f64 = 0.8;

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

/// Fuses rankings, best first: by words, with scores from 0, and by meaning, with cosines. Where one is empty, the
/// other one counts alone.
pub(super) fn fuse(words: &[Candidate], meaning: &[Candidate]) -> Vec<Fused> {
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
    let scales = scales(rankings);
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

fn scales([words, meaning]: [&[Candidate]; 2]) -> [Scale; 2] {
    let weight = match (words, meaning) {
        (_, []) => 0.0,
        ([], _) => 1.0,
        _ => MEANING_WEIGHT,
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
    const NONE: Self = Self { place: 0, score: f32::NEG_INFINITY };

    /// Whether the document matches.
    pub(super) fn is_some(self) -> bool {
        self.score > f32::NEG_INFINITY
    }
}

/// The best chunk of each document, by the document's place. Scores that are no numbers are left out.
pub(super) fn best_chunks(
    index: &UserIndex,
    chunks: impl Iterator<Item = (ChunkNumber, f32)>,
) -> Vec<BestChunk> {
    let mut best = vec![BestChunk::NONE; index.document_places()];
    for (place, score) in chunks.filter(|(_, score)| score.is_finite()) {
        let Some(chunk) = index.chunk(place) else { continue };
        let best = &mut best[chunk.document_place() as usize];
        // Of chunks that are as good, the one that came first.
        if best.score < score || best.score <= score && place < best.place {
            *best = BestChunk { place, score };
        }
    }
    best
}

/// The documents with a best chunk, best first: `depth` at most, of `allowed` where that is given. `best` is in the order
/// of their places.
pub(super) fn best_first(
    index: &UserIndex,
    best: &[BestChunk],
    allowed: Option<&HashSet<i64>>,
    depth: usize,
) -> Vec<Candidate> {
    let mut ranking: Vec<(u32, BestChunk)> =
        (0..).zip(best.iter().copied()).filter(|(_, best)| best.is_some()).collect();
    if let Some(allowed) = allowed {
        ranking.retain(|(document, _)| allowed.contains(&index.document_at(*document)));
    }
    let order = |(one, best): &(u32, BestChunk), (other, its_best): &(u32, BestChunk)| {
        let newest = || newest_first(index.document_at(*one), index.document_at(*other));
        its_best.score.total_cmp(&best.score).then_with(newest)
    };
    if depth < ranking.len() {
        ranking.select_nth_unstable_by(depth, order);
        ranking.truncate(depth);
    }
    ranking.sort_unstable_by(order);
    let candidate = |(document, BestChunk { place, score })| {
        let chunk = index.chunk(place)?.id();
        Some(Candidate { document: index.document_at(document), chunk, score })
    };
    ranking.into_iter().filter_map(candidate).collect()
}

/// The documents with the nearest chunks, nearest first: `depth` at most. `cosines` are those of [`UserIndex::cosines`].
pub(super) fn nearest_first(
    index: &UserIndex,
    cosines: &[(ChunkNumber, f32)],
    depth: usize,
) -> Vec<Candidate> {
    let (nearest, others) = cosines.split_at(cosines.len().min(EXACT));
    let best = best_chunks(index, nearest.iter().copied());
    if others.is_empty() || best.iter().filter(|best| best.is_some()).count() >= depth {
        return best_first(index, &best, None, depth);
    }
    best_first(index, &best_chunks(index, cosines.iter().copied()), None, depth)
}

fn newest_first(one: i64, other: i64) -> Ordering {
    other.cmp(&one)
}
