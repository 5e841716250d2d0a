use std::collections::HashSet;

use super::*;
use crate::knowledge::bm25;
use crate::knowledge::index::tests::{german, having, nearest, row};
use crate::knowledge::store::ChunkRow;
use crate::knowledge::words::{Analyzer, of_query};

const WORDS: [&str; 6] = ["wing", "flow", "heat", "cat", "Garten", "nosuchword"];

/// Some chunks of each kind: with vectors of both models and without, in two languages, of one document and of several.
fn index(count: u16) -> UserIndex {
    let mut index = UserIndex::default();
    for n in 0..count {
        let (id, vector) = (i64::from(n) + 1, [f32::from(n), 1.0]);
        let text = ["wing wing", "flow of wings", "heat", "a cat"][usize::from(n % 4)];
        let chunk = match n % 5 {
            0 => german(id, "der Garten"),
            1 => row(id, id / 3, text, None),
            2 => ChunkRow { is_previous: true, ..row(id, id / 3, text, Some(vector)) },
            _ => row(id, id / 3, text, Some(vector)),
        };
        index.put(&chunk).expect("there is room");
    }
    index
}

fn header() -> Header {
    let models = Models { current: Some("current".to_owned()), previous: None };
    Header { user_id: "ana".to_owned(), models, revision: Revision { revision: 7, removals: 2 } }
}

fn file(index: &UserIndex) -> Vec<u8> {
    let mut bytes = encode(&header(), index).expect("the header is short");
    seal(&mut bytes);
    bytes
}

/// Chunks by words, in the order of their ids, and by both kinds of vectors.
type Seen = (Vec<Vec<(i64, u8)>>, Vec<(i64, f32)>, usize);

fn seen(index: &UserIndex) -> Seen {
    let sorted = |mut found: Vec<(i64, u8)>| {
        found.sort_unstable();
        found
    };
    let words = WORDS.iter().filter(|word| !of_query(word, index.analyzers()).is_empty());
    let words = words.map(|word| sorted(having(index, word))).collect();
    let mut vectors = nearest(index);
    vectors.sort_by_key(|(id, _)| *id);
    let previous = index.cosines(&[1.0, 0.0], Some(&[0.0, 1.0]), None).len();
    (words, vectors, previous)
}

/// Does everything with an index that anybody does.
fn use_in_every_way(mut index: UserIndex) {
    seen(&index);
    for word in WORDS {
        let words = of_query(word, index.analyzers());
        bm25::rank(&index, &words, None, 10);
        index.having_all(&words);
    }
    let some = index.all_documents().take(2).collect();
    index.cosines(&[1.0, 0.0], Some(&[0.0, 1.0]), Some(&some));
    index.put(&row(2, 2, "wing", Some([0.0, 1.0]))).expect("there is room");
    index.put(&row(-1, 2, "wing", Some([0.0, 1.0]))).expect("there is room");
    index.retain(&HashSet::from([-1, 1, 4]));
    seen(&index);
    assert!(index.bytes() > 0);
    decode(&file(&index)).expect("what can be used can be written and read");
}

#[test]
fn an_index_that_was_read_is_the_one_that_was_written() {
    // More than one block of vectors.
    let written = index(3_000);

    let (of_file, read) = decode(&file(&written)).expect("it is whole");

    assert_eq!(of_file, header());
    assert_eq!(seen(&read), seen(&written));
    assert_eq!((read.len(), read.places()), (3_000, 3_000));
    assert_eq!((read.documents(), read.words()), (written.documents(), written.words()));
    assert_eq!(read.has_previous(), written.has_previous());
    assert_eq!(read.analyzer_of(1), written.analyzer_of(1));
    assert_eq!(read.postings_count, written.postings_count);
    use_in_every_way(read);
}

#[test]
fn what_is_dead_is_not_written() {
    let mut worn = index(200);
    worn.put(&row(3, 1, "", Some([5.0, 1.0]))).expect("there is room");
    worn.retain(&(1..=200).filter(|id| id % 7 != 0).collect());

    let bytes = file(&worn);
    let (_, read) = decode(&bytes).expect("it is whole");

    assert_eq!(seen(&read), seen(&worn));
    assert_eq!((read.len(), read.places()), (worn.len(), worn.len()));
    assert_eq!(read.document_places(), worn.documents());
    assert_eq!(read.matrix.dead() + read.previous.dead(), 0);
    assert_eq!(file(&read), bytes, "it is as if nothing else had ever been there");
}

#[test]
fn an_empty_index_can_be_read() {
    let (_, read) = decode(&file(&UserIndex::default())).expect("it is whole");

    assert_eq!((read.len(), nearest(&read)), (0, Vec::new()));
    let mut without_vectors = index(20);
    without_vectors.drop_vectors();
    let (_, read) = decode(&file(&without_vectors)).expect("it is whole");
    assert_eq!((read.len(), nearest(&read)), (20, Vec::new()));
}

#[test]
fn whatever_is_changed_is_noticed() {
    let whole = file(&index(12));

    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        assert!(decode(&changed).is_none(), "{place}");
        assert!(decode(&whole[..place]).is_none(), "{place}");
    }
    assert!(decode(&[whole.as_slice(), &[0]].concat()).is_none());
}

#[test]
fn whatever_is_in_a_file_with_a_right_hash_harms_nobody() {
    let whole = encode(&header(), &index(12)).expect("the header is short");
    let mut refused = 0;
    let mut check = |mut bytes: Vec<u8>| {
        seal(&mut bytes);
        match decode(&bytes) {
            Some((_, index)) => use_in_every_way(index),
            None => refused += 1,
        }
    };

    for place in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[place] ^= change;
            check(changed);
        }
        check(whole[..place].to_vec());
        let mut grown = whole.clone();
        grown.insert(place, 0);
        check(grown);
    }

    assert!((2 * whole.len()..5 * whole.len()).contains(&refused), "{refused} of {}", whole.len());
}

#[test]
fn columns_that_contradict_each_other_are_refused() {
    let of = |columns: &[&[u8]]| {
        let mut bytes = Vec::new();
        for column in columns {
            put(&mut bytes, |bytes| bytes.extend_from_slice(column));
        }
        read_columns(&bytes).map(|index| index.len())
    };
    let (ids, documents) = ([1_i64, 2].map(i64::to_le_bytes), [1_i64, 1].map(i64::to_le_bytes));
    let (ids, documents) = (ids.as_flattened(), documents.as_flattened());
    let words = [packed(Analyzer::default(), 3); 2];
    let words = words.as_flattened();
    let postings = [Posting::new(0, 1), Posting::new(1, 1)].map(|posting| posting.0.to_le_bytes());
    let postings = postings.as_flattened();
    let (term, two) = (9_u32.to_le_bytes(), 2_u32.to_le_bytes());
    let none = 0_u64.to_le_bytes();
    // Two numbers, then a row: two upper halves, two lower ones, a step.
    let row = [2_u8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0x80, 0x3f];

    let good: [&[u8]; 9] = [ids, documents, words, &[1, 0], postings, &term, &two, &row, &none];
    assert_eq!(of(&good), Some(2));
    assert_eq!(of(&good[..8]), None, "a column is missing");
    let mut more = good.to_vec();
    more.push(&none);
    assert_eq!(of(&more), None, "there is one too many");
    let nowhere = [Posting::new(0, 1), Posting::new(2, 1)].map(|posting| posting.0.to_le_bytes());
    let backwards = [Posting::new(1, 1), Posting::new(0, 1)].map(|posting| posting.0.to_le_bytes());
    let same = [1_i64, 1].map(i64::to_le_bytes);
    let no_analyzer = [0xff; 8];
    let bad: [(usize, &[u8], &str); 13] = [
        (0, same.as_flattened(), "two chunks with one id"),
        (0, &ids[..8], "fewer chunks than documents"),
        (2, &no_analyzer, "an analyzer that there is not"),
        (3, &[1], "fewer vectors than chunks"),
        (3, &[1, 1], "more vectors than rows"),
        (3, &[0, 0], "fewer vectors than rows"),
        (3, &[1, 3], "a matrix that there is not"),
        (4, nowhere.as_flattened(), "a posting of a chunk that there is not"),
        (4, backwards.as_flattened(), "postings out of order"),
        (6, &[3, 0, 0, 0], "more postings of a term than there are"),
        (6, &[1, 0, 0, 0], "a posting of no term"),
        (6, &[0xff; 4], "a count that is too large"),
        (7, &row[..15], "half a row"),
    ];
    for (place, column, what) in bad {
        let mut columns = good;
        columns[place] = column;
        assert_eq!(of(&columns), None, "{what}");
    }
}

#[test]
fn headers_are_read_alone() {
    let whole = file(&index(12));

    assert_eq!(read_header(whole.as_slice()).expect("it can be read"), Some(header()));
    for cut in [0, 5, 19, 30] {
        assert_eq!(read_header(&whole[..cut]).expect("it can be read"), None, "{cut}");
    }
    let mut other_version = whole.clone();
    other_version[MAGIC.len()] += 1;
    seal(&mut other_version);
    assert_eq!(read_header(other_version.as_slice()).expect("it can be read"), None);
    assert!(decode(&other_version).is_none());
    let long = Header { user_id: "a".repeat(MAX_HEADER), ..header() };
    assert!(encode(&long, &index(1)).is_none());
}

#[test]
fn the_fuzz_target_gets_past_the_header() {
    let file = encode(&header(), &index(31)).expect("the header is short");
    let columns = &file[fuzzing::begin().len()..];

    assert_eq!(fuzzing::index(columns).as_deref(), Some(columns));
    assert_eq!(fuzzing::index(&columns[1..]), None);
}
