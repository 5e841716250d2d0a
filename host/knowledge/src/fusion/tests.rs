use super::*;
use crate::index::UserIndex;
use crate::store::ChunkRow;
use crate::words;

fn ranking(documents: &[(i64, i64, f32)]) -> Vec<Candidate> {
    documents.iter().map(|&(document, chunk, score)| Candidate { document, chunk, score }).collect()
}

/// Fuses documents that a model has read, with the weight that is used for them.
fn fuse(words: &[Candidate], meaning: &[Candidate]) -> Vec<Fused> {
    super::fuse(words, meaning, MEANING_WEIGHT, |_| false)
}

fn documents(fused: &[Fused]) -> Vec<i64> {
    fused.iter().map(|found| found.document).collect()
}

fn candidates(nearest: &[Nearest]) -> Vec<Candidate> {
    nearest.iter().map(|nearest| nearest.found).collect()
}

#[test]
fn a_document_that_both_rankings_have_comes_before_one_at_the_top_of_a_single_one() {
    let words = ranking(&[(1, 10, 0.8), (2, 20, 0.6)]);
    let meaning = ranking(&[(3, 30, 0.6), (2, 21, 0.5), (4, 40, 0.1)]);

    let fused = fuse(&words, &meaning);

    assert_eq!(documents(&fused), [2, 3, 1, 4]);
    assert!((fused[0].score - (0.2 * 0.6 + 0.8 * 0.5)).abs() < 1e-6);
    assert!((fused[1].score - 0.8 * 0.6).abs() < 1e-6);
    assert_eq!(fused[0].chunk, 20);
}

#[test]
fn a_document_that_is_far_ahead_counts_for_more_than_its_rank() {
    let meaning = ranking(&[(1, 10, 0.5), (2, 20, 0.49), (3, 30, 0.48), (4, 40, 0.2)]);

    let near = fuse(&ranking(&[(1, 10, 8.0), (3, 30, 7.9)]), &meaning);
    let far_ahead = fuse(&ranking(&[(3, 30, 8.0), (1, 10, 4.0)]), &meaning);

    assert_eq!(documents(&near), [1, 3, 2, 4]);
    assert_eq!(documents(&far_ahead), [3, 1, 2, 4]);
}

#[test]
fn the_chunk_is_that_of_the_ranking_in_which_the_document_came_higher() {
    let words = ranking(&[(1, 10, 8.0), (2, 20, 6.0)]);
    let meaning = ranking(&[(2, 21, 0.9), (1, 11, 0.3)]);

    let fused = fuse(&words, &meaning);

    assert_eq!(
        fused.iter().map(|found| (found.document, found.chunk)).collect::<Vec<_>>(),
        [(2, 21), (1, 10)]
    );
}

#[test]
fn unread_documents_keep_the_places_that_their_words_give_them() {
    let words = ranking(&[(1, 10, 0.08), (2, 20, 0.07), (3, 30, 0.06), (4, 40, 0.01)]);
    let meaning = ranking(&[(5, 50, 0.9), (4, 41, 0.8), (2, 21, 0.1)]);

    let mut fused = super::fuse(&words, &meaning, MEANING_WEIGHT, |document| [1, 3].contains(&document));

    assert_eq!(documents(&fused), [1, 5, 3, 4, 2]);
    assert!(!fused.is_sorted_by(|one, other| one.score >= other.score), "{fused:?}");
    make_descending(&mut fused);
    assert!((fused[0].score - 0.8 * 0.9).abs() < 1e-6);
    assert!(fused.is_sorted_by(|one, other| one.score >= other.score), "{fused:?}");
    assert!(fused.iter().all(|found| (0.0..=1.0).contains(&found.score)), "{fused:?}");
}

#[test]
fn documents_that_only_meaning_finds_follow_if_no_place_by_words_is_that_of_a_read_one() {
    let words = ranking(&[(1, 10, 8.0), (2, 20, 7.0)]);
    let meaning = ranking(&[(5, 50, 0.9), (4, 41, 0.8)]);

    let fused = super::fuse(&words, &meaning, MEANING_WEIGHT, |document| document < 3);

    assert_eq!(documents(&fused), [1, 2, 5, 4]);
}

#[test]
fn a_score_says_how_good_a_document_is_whatever_else_was_found() {
    let scores = |fused: Vec<Fused>| -> Vec<_> {
        fused.iter().map(|found| (found.document, (found.score * 1000.0).round() / 1000.0)).collect()
    };

    assert_eq!(scores(fuse(&ranking(&[(1, 10, 0.2), (2, 20, 0.1)]), &[])), [(1, 0.672), (2, 0.41)]);
    assert_eq!(scores(fuse(&[], &ranking(&[(1, 10, 1.0), (2, 20, -0.5)]))), [(1, 0.8), (2, 0.0)]);
    let weak = [(2, 20, 0.1)];
    assert_eq!(scores(fuse(&ranking(&weak), &ranking(&weak))), [(2, 0.1)]);
    assert_eq!(fuse(&[], &[]), []);
}

#[test]
fn the_worst_scores_that_can_be_are_still_ranked() {
    let fused = fuse(&[], &ranking(&[(1, 10, -1.0), (2, 20, -1.0)]));

    assert_eq!(
        fused.iter().map(|found| (found.document, found.score)).collect::<Vec<_>>(),
        [(2, 0.0), (1, 0.0)]
    );
}

#[test]
fn a_ranking_counts_to_its_depth() {
    let long: Vec<_> = (0..2_000_u16).map(|n| (i64::from(n), i64::from(n), f32::from(4_000 - n))).collect();

    assert_eq!(fuse(&ranking(&long), &[]).len(), DEPTH);
    // A document beyond the depth by words is placed like the last one within it.
    let fused = fuse(&ranking(&long), &ranking(&[(1_999, 1_999, 0.5)]));
    assert_eq!(documents(&fused)[998..], [998, 1_999, 999]);
}

#[test]
fn scores_that_are_no_numbers_hide_nothing_else() {
    let mut index = UserIndex::default();
    for (id, document) in [(1, 1), (2, 1), (3, 2)] {
        let row = ChunkRow {
            id,
            document,
            terms: words::count(words::Language::English, "", "wing"),
            vector: None,
        };
        index.put(&row).expect("there is room");
    }

    let nearest = vec![(0, f32::NAN), (1, 0.5), (2, f32::INFINITY)];
    let cosines = Cosines { nearest, ..Cosines::default() };

    assert_eq!(candidates(&nearest_first(&index.alone(), &cosines, 10)), ranking(&[(1, 2, 0.5)]));
}

#[test]
fn documents_far_behind_one_with_many_near_chunks_are_found_too() {
    let mut index = UserIndex::default();
    for id in 0..20_000_u16 {
        let vector = [1.0_f32, f32::from(id) / 20_000.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let terms = words::count(words::Language::English, "", "wing");
        let (id, document, vector) = (id.into(), (id / 18_000).into(), Some(vector));
        let row = ChunkRow { id, document, terms, vector };
        index.put(&row).expect("there is room");
    }
    let documents = |depth| -> Vec<_> {
        let cosines = index.alone().cosines(&[1.0, -0.5], None, depth);
        nearest_first(&index.alone(), &cosines, depth).iter().map(|nearest| nearest.found.document).collect()
    };

    assert_eq!((documents(1), documents(10)), (vec![0], vec![0, 1]));
}

#[test]
fn documents_with_an_estimate_alone_come_after_those_that_were_compared_exactly() {
    let mut index = UserIndex::default();
    for document in 1..=3 {
        let terms = words::count(words::Language::English, "", "wing");
        let row = ChunkRow { id: document, document, terms, vector: None };
        index.put(&row).expect("there is room");
    }
    let nearest = vec![(0, 0.5), (1, 0.4)];
    let others = vec![(1, 0.9), (2, 0.45)];
    let cosines = Cosines { nearest, others, ..Cosines::default() };

    assert_eq!(
        candidates(&nearest_first(&index.alone(), &cosines, 10)),
        ranking(&[(1, 1, 0.5), (3, 3, 0.4), (2, 2, 0.4)])
    );
}
