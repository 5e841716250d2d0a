use super::*;
use crate::store::ChunkRow;
use crate::words::{self, Analyzer};

/// Index of documents, each with its chunks.
fn index(documents: &[&[&str]]) -> UserIndex {
    let mut index = UserIndex::default();
    let chunks =
        (1..).zip(documents).flat_map(|(document, chunks)| chunks.iter().map(move |text| (document, *text)));
    for (id, (document, text)) in (1..).zip(chunks) {
        let terms = words::count(words::Language::English, "", text);
        let row = ChunkRow { id, document, terms, vector: None };
        index.put(&row).expect("there is room");
    }
    index
}

/// Documents with their best chunks, best first.
fn found(index: &UserIndex, query: &str) -> Vec<(i64, i64)> {
    let ranking = rank(&index.alone(), &words::of_query(query, Analyzer::default().into()), None, 10);
    ranking.iter().map(|found| (found.document, found.chunk)).collect()
}

#[test]
fn words_in_several_passages_of_a_document_add_up() {
    // The last three have a passage as good as any of the second document's, and nothing else.
    let index = index(&[
        &["wing lift heat", "moon stars night"],
        &["wing moon stars", "heat moon stars", "lift moon stars"],
        &["wing moon stars", "moon stars night", "stars night moon"],
        &["heat moon stars", "moon stars night", "stars night moon"],
        &["lift moon stars", "moon stars night", "stars night moon"],
    ]);

    assert_eq!(found(&index, "wing lift heat"), [(1, 1), (2, 3), (5, 12), (4, 9), (3, 6)]);
}

#[test]
fn a_long_document_is_found_by_its_best_passage() {
    let filler = "moon stars night sky dark cold far light";
    let mut long = vec![filler; 200];
    long[120] = "wing lift heat flow near far cold light";
    let index = index(&[&long, &["wing moon stars night sky dark cold far"], &[filler], &[filler]]);

    assert_eq!(found(&index, "wing lift heat"), [(1, 121), (2, 201)]);
}

#[test]
fn a_word_counts_as_often_as_the_query_has_it() {
    let index = index(&[&["wing moon stars"], &["lift moon stars"], &["night moon stars"]]);

    assert_eq!(found(&index, "wing lift wing"), [(1, 1), (2, 2)]);
    assert_eq!(found(&index, "wing lift lift"), [(2, 2), (1, 1)]);
}

#[test]
fn documents_of_which_nothing_is_alive_are_not_counted() {
    let whole = index(&[&["wing heat"], &["wing wing moon", "moon moon"], &["heat moon night stars"]]);
    let mut worn = index(&[
        &["wing heat"],
        &["wing wing moon", "moon moon"],
        &["heat moon night stars"],
        &["wing", "wing"],
    ]);

    worn.retain(&HashSet::from([1, 2, 3, 4]));

    let terms = words::of_query("wing heat", Analyzer::default().into());
    assert_eq!(rank(&worn.alone(), &terms, None, 10), rank(&whole.alone(), &terms, None, 10));
}

#[test]
fn only_what_is_allowed_is_ranked_and_no_deeper_than_wanted() {
    let index = index(&[&["wing wing"], &["wing heat"], &["wing moon stars"]]);
    let terms = words::of_query("wing", Analyzer::default().into());
    let documents = |allowed: Option<&HashSet<i64>>, depth| {
        rank(&index.alone(), &terms, allowed, depth).iter().map(|found| found.document).collect::<Vec<_>>()
    };

    assert_eq!(documents(None, 2), [1, 2]);
    assert_eq!(documents(Some(&HashSet::from([2, 3])), 10), [2, 3]);
}
