//! Relevance feedback (Rocchio 1971): documents are compared once more with a query that is moved towards the
//! best of them. What is near to a good result is more often relevant than what is as near to a few words
//! (docs/decisions/0082).

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::fusion::{Candidate, DEPTH, Fused, MEANING_WEIGHT, Nearest, first_of, fuse};
use super::index::Union;

/// Number of documents that are taken to be relevant.
const DOCUMENTS: usize = 2;

/// Weight of the relevant documents' mean, beside 1 for the query.
const WEIGHT: f32 = 0.2;

/// Fuses the full-text ranking `words` with the semantic ranking `nearest` of a query's vector, then moves the
/// query towards the first documents and fuses again. Documents keep their passages and scores. There is no second fusion
/// if no relevant document has a vector.
pub(super) fn fuse_with_feedback(
    union: &Union<'_>,
    vector: &[f32],
    words: &[Candidate],
    nearest: &[Nearest],
    is_unread: impl Fn(i64) -> bool,
) -> Vec<Fused> {
    let meaning: Vec<_> = nearest.iter().map(|nearest| nearest.found).collect();
    let fused = fuse(words, &meaning, MEANING_WEIGHT, &is_unread);
    let place = |document| nearest.iter().find(|nearest| nearest.found.document == document);
    let relevant = fused.iter().take(DOCUMENTS);
    let relevant = relevant.filter_map(|found| union.vector(place(found.document)?.place));
    let Some(moved) = moved(vector, &relevant.collect::<Vec<_>>()) else { return fused };
    let places: Vec<_> = nearest.iter().map(|nearest| nearest.place).collect();
    let Some(cosines) = union.cosines_of(&places, &moved) else { return fused };
    let candidates = meaning.iter().zip(cosines).map(|(found, score)| Candidate { score, ..*found });
    let moved = fuse(words, &first_of(candidates.collect(), DEPTH), MEANING_WEIGHT, is_unread);
    // The moved query is nearer to everything that is like the first documents, whether they are relevant or not.
    let scores: HashMap<_, _> = fused.iter().map(|found| (found.document, found.score)).collect();
    moved.into_iter().map(|found| Fused { score: scores[&found.document], ..found }).collect()
}

/// Sum of a query's vector and the weighted mean of others, with length 1; `None` without others.
fn moved(query: &[f32], others: &[Vec<f32>]) -> Option<Vec<f32>> {
    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    let weight = WEIGHT / others.len() as f32;
    let mut moved = query.to_vec();
    for other in others {
        moved.iter_mut().zip(other).for_each(|(number, other)| *number += weight * other);
    }
    let length = moved.iter().map(|number| number * number).sum::<f32>().sqrt();
    // Vectors of a damaged file may have any numbers.
    let is_usable = !others.is_empty() && length.is_normal();
    is_usable.then(|| moved.into_iter().map(|number| number / length).collect())
}
