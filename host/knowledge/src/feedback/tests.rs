use super::*;
use crate::index::tests::row;
use crate::index::{ChunkNumber, UserIndex};
use crate::store::ChunkRow;

/// A query's vector.
const QUERY: [f32; 2] = [1.0, 0.0];

/// Vector at this angle to the query, in degrees.
fn at(degrees: f32) -> [f32; 2] {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    [cosine, sine]
}

fn index(rows: impl IntoIterator<Item = ChunkRow>) -> UserIndex {
    let mut index = UserIndex::default();
    rows.into_iter().for_each(|row| index.put(&row).expect("there is room"));
    index
}

/// Rankings of documents whose only chunk has the same id.
fn ranking(documents: &[(i64, f32)]) -> Vec<Candidate> {
    documents.iter().map(|&(document, score)| Candidate { document, chunk: document, score }).collect()
}

/// Semantic ranking of documents at these angles to the query.
fn by_meaning(documents: &[(i64, f32)]) -> Vec<Candidate> {
    first_of(ranking(&documents.iter().map(|(id, angle)| (*id, at(*angle)[0])).collect::<Vec<_>>()), DEPTH)
}

/// The same, of documents whose chunks were put into the index in the order of their ids, from 1.
fn nearest(meaning: &[Candidate]) -> Vec<Nearest> {
    let place = |found: &Candidate| ChunkNumber::try_from(found.document - 1).expect("it is small");
    meaning.iter().map(|found| Nearest { found: *found, place: place(found) }).collect()
}

fn documents(fused: &[Fused]) -> Vec<i64> {
    fused.iter().map(|found| found.document).collect()
}

#[test]
fn of_documents_as_near_to_the_query_the_one_that_is_near_to_the_best_comes_first() {
    let angles = [(1, 20.0), (2, 25.0), (3, -40.0), (4, 41.0)];
    let index = index(angles.map(|(id, angle)| row(id, id, "wing", Some(at(angle)))));
    let meaning = by_meaning(&angles);

    let fused = fuse_with_feedback(&index.alone(), &QUERY, &[], &nearest(&meaning), |_| false);

    assert_eq!(documents(&fuse(&[], &meaning, MEANING_WEIGHT, |_| false)), [1, 2, 3, 4]);
    assert_eq!(documents(&fused), [1, 2, 4, 3]);
    assert_eq!(fused[2].chunk, 4);
}

#[test]
fn the_query_moves_towards_the_first_documents_of_both_rankings() {
    let angles = [(1, 20.0), (2, 25.0), (3, -40.0), (4, 41.0), (5, -42.0)];
    let index = index(angles.map(|(id, angle)| row(id, id, "wing", Some(at(angle)))));
    let words = ranking(&[(3, 0.9), (5, 0.34)]);
    let meaning = by_meaning(&angles);

    let before = fuse(&words, &meaning, MEANING_WEIGHT, |_| false);
    let after = fuse_with_feedback(&index.alone(), &QUERY, &words, &nearest(&meaning), |_| false);

    assert_eq!(documents(&before), [3, 1, 5, 2, 4]);
    assert_eq!(documents(&after), [3, 5, 1, 2, 4]);
    let score = |fused: &[Fused]| fused.iter().find(|found| found.document == 5).expect("it is there").score;
    assert!((score(&after) - score(&before)).abs() < 1e-9, "what is moved says nothing about the match");
}

#[test]
fn without_vectors_of_all_there_is_no_second_fusion() {
    let angles = [(1, 20.0), (2, 25.0), (3, -40.0), (4, 41.0)];
    let meaning = by_meaning(&angles);
    let current = |(id, angle)| row(id, id, "wing", Some(at(angle)));
    let without = |(id, _)| row(id, id, "wing", None);
    let [first, second, third, fourth] = angles;

    for rows in [
        angles.map(without).to_vec(),
        vec![current(first), current(second), current(third), without(fourth)],
        vec![current(first), current(second), without(third), current(fourth)],
        vec![],
    ] {
        let fused = fuse_with_feedback(&index(rows).alone(), &QUERY, &[], &nearest(&meaning), |_| false);
        assert_eq!(documents(&fused), [1, 2, 3, 4]);
    }
    let alone = fuse_with_feedback(&index(vec![]).alone(), &QUERY, &ranking(&[(1, 1.0)]), &[], |_| false);
    assert_eq!(documents(&alone), [1]);
}
