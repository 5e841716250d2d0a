//! Reciprocal rank fusion: one ranking of two whose scores cannot be compared.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::index::{ChunkNumber, UserIndex};

/// How many documents of each ranking count (Cormack, Clarke and Büttcher 2009). Not tuned.
pub(super) const DEPTH: usize = 100;
const RRF_K: f64 = 60.0;

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
    pub(super) score: f64,
}

/// Fuses rankings, best first.
pub(super) fn fuse(words: &[Candidate], meaning: &[Candidate]) -> Vec<Fused> {
    let mut fused = HashMap::<i64, (Fused, u32)>::new();
    for ranking in [words, meaning] {
        for (rank, candidate) in (1_u32..).zip(ranking.iter().take(DEPTH)) {
            let &Candidate { document, chunk, .. } = candidate;
            let (found, best) =
                fused.entry(document).or_insert((Fused { document, chunk, score: 0.0 }, rank));
            found.score += 1.0 / (RRF_K + f64::from(rank));
            if rank < *best {
                (found.chunk, *best) = (chunk, rank);
            }
        }
    }
    let mut fused: Vec<_> = fused.into_values().map(|(found, _)| found).collect();
    fused.sort_unstable_by(|one, other| {
        other.score.total_cmp(&one.score).then(newest_first(one.document, other.document))
    });
    fused
}

/// The documents with the best chunks, best first: `depth` at most, of `allowed` where that is given.
pub(super) fn best_of_each_document(
    index: &UserIndex,
    chunks: impl Iterator<Item = (ChunkNumber, f32)>,
    allowed: Option<&HashSet<i64>>,
    depth: usize,
) -> Vec<Candidate> {
    let mut best = vec![None::<(f32, i64)>; index.document_places()];
    for (place, score) in chunks {
        let Some(chunk) = index.chunk(place) else { continue };
        let best = &mut best[chunk.document_place() as usize];
        // Of chunks that are as good, the one that came first.
        if best.is_none_or(|(before, _)| before < score) {
            *best = Some((score, chunk.id()));
        }
    }
    let candidate = |(document, best): (u32, Option<(f32, i64)>)| {
        best.map(|(score, chunk)| Candidate { document: index.document_at(document), chunk, score })
    };
    let mut ranking: Vec<_> = (0_u32..).zip(best).filter_map(candidate).collect();
    if let Some(allowed) = allowed {
        ranking.retain(|candidate| allowed.contains(&candidate.document));
    }
    let order = |one: &Candidate, other: &Candidate| {
        other.score.total_cmp(&one.score).then(newest_first(one.document, other.document))
    };
    if depth < ranking.len() {
        ranking.select_nth_unstable_by(depth, order);
        ranking.truncate(depth);
    }
    ranking.sort_unstable_by(order);
    ranking
}

fn newest_first(one: i64, other: i64) -> Ordering {
    other.cmp(&one)
}
