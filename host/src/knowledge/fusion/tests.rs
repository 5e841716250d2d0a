use super::*;

fn ranking(documents: &[(i64, i64)]) -> Vec<Candidate> {
    documents.iter().map(|&(document, chunk)| Candidate { document, chunk, score: 1.0 }).collect()
}

#[test]
fn a_document_that_both_rankings_have_comes_before_one_at_the_top_of_a_single_one() {
    let words = ranking(&[(1, 10), (2, 20)]);
    let meaning = ranking(&[(3, 30), (2, 21)]);

    let fused = fuse(&words, &meaning);

    let documents: Vec<_> = fused.iter().map(|found| found.document).collect();
    assert_eq!(documents, [2, 3, 1]);
    assert!((fused[0].score - 2.0 / 62.0).abs() < 1e-12);
    assert!((fused[1].score - 1.0 / 61.0).abs() < 1e-12);
    assert_eq!(fused[0].chunk, 20);
}

#[test]
fn the_chunk_is_that_of_the_ranking_in_which_the_document_came_higher() {
    let words = ranking(&[(1, 10), (2, 20)]);
    let meaning = ranking(&[(2, 21), (1, 11)]);

    let fused = fuse(&words, &meaning);

    assert_eq!(
        fused.iter().map(|found| (found.document, found.chunk)).collect::<Vec<_>>(),
        [(2, 21), (1, 10)]
    );
}

#[test]
fn a_ranking_counts_to_its_depth() {
    let long: Vec<_> = (0..200).map(|n| (n, n)).collect();

    assert_eq!(fuse(&ranking(&long), &[]).len(), DEPTH);
}
