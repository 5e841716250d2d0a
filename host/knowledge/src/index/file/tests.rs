use std::collections::HashSet;

use super::writer::{PIECE, Seal};
use super::*;
use crate::bm25;
use crate::index::tests::{german, having, nearest, row};
use crate::store::ChunkRow;
use crate::words::{Analyzer, of_query};

const WORDS: [&str; 6] = ["wing", "flow", "heat", "cat", "Garten", "nosuchword"];

/// Index with chunks of each kind: with vectors and without, in two languages, of one document
/// and of several.
fn index(count: u16) -> UserIndex {
    (0..count).fold(UserIndex::default(), with_chunk)
}

fn with_chunk(mut index: UserIndex, n: u16) -> UserIndex {
    let id = i64::from(n) + 1;
    let vector = [f32::from(n), 1.0];
    let text = ["wing wing", "flow of wings", "heat", "a cat"][usize::from(n % 4)];
    let chunk = match n % 5 {
        0 => ChunkRow { document: id / 3, ..german(id, "der Garten") },
        1 => row(id, id / 3, text, None),
        _ => row(id, id / 3, text, Some(vector)),
    };
    index.put(&chunk).expect("there is room");
    index
}

fn header() -> Header {
    let model = Some("current".to_owned());
    Header { holder: "ana".to_owned(), model, revision: Revision { revision: 7, removals: 2 } }
}

fn file(index: &UserIndex) -> Vec<u8> {
    let bytes = write(&header(), index, Vec::new()).expect("the header is short");
    assert!(bytes.len() as u64 <= max_bytes(index));
    bytes
}

/// Opens a file with these bytes.
fn opened(bytes: &[u8]) -> Option<(Header, UserIndex)> {
    let mut file = tempfile::tempfile().expect("a scratch file");
    file.write_all(bytes).expect("there is room");
    open(&file).expect("it can be read")
}

/// Reads a file with these bytes and a valid seal.
fn sealed(bytes: &[u8]) -> Option<(Header, UserIndex)> {
    read(&Bytes::from([bytes, &[0; size_of::<Seal>()]].concat()), &|_| {})
}

fn spilled(mut index: UserIndex) -> UserIndex {
    spill(&mut index, &tempfile::tempfile().expect("a scratch file")).expect("there is room");
    assert_eq!(index.recent_bytes(), 0);
    index
}

/// Search results of an index: chunks by word, sorted by id; cosines; vectors of the chunks, and their cosines by id.
type Seen = (Vec<Vec<(i64, u8)>>, Vec<(i64, f32)>, Vec<Vec<f32>>, Option<Vec<f32>>);

fn seen(index: &UserIndex) -> Seen {
    let sorted = |mut found: Vec<(i64, u8)>| {
        found.sort_unstable();
        found
    };
    let words = WORDS.iter().filter(|word| !of_query(word, index.alone().analyzers()).is_empty());
    let words = words.map(|word| sorted(having(index, word))).collect();
    let mut vectors = nearest(index);
    vectors.sort_by_key(|(id, _)| *id);
    let ids = || vectors.iter().map(|(id, _)| *id);
    let places: Vec<_> = ids().filter_map(|id| index.place(id)).collect();
    let read = places.iter().filter_map(|place| index.alone().vector(*place)).collect();
    let cosines = index.alone().cosines_of(&places, &[1.0, 0.0]);
    (words, vectors, read, cosines)
}

/// Uses an index in every way that the program does.
fn use_in_every_way(mut index: UserIndex) {
    seen(&index);
    for word in WORDS {
        let words = of_query(word, index.alone().analyzers());
        bm25::rank(&index.alone(), &words, None, 10);
        index.alone().having_all(&words);
    }
    let some = index.all_documents().take(2).collect();
    index.alone().cosines(&[1.0, 0.0], Some(&some), 1);
    index.put(&row(2, 2, "wing", Some([0.0, 1.0]))).expect("there is room");
    index.put(&row(-1, 2, "wing", Some([0.0, 1.0]))).expect("there is room");
    index.retain(&HashSet::from([-1, 1, 4]));
    seen(&index);
    assert!(index.bytes() > 0);
    let index = spilled(index);
    seen(&index);
    if can_be_written(&header(), &index) {
        sealed(unsealed(&file(&index))).expect("what can be used can be written and read");
    }
}

fn unsealed(file: &[u8]) -> &[u8] {
    &file[..file.len() - size_of::<Seal>()]
}

#[test]
fn an_index_that_was_read_is_the_one_that_was_written() {
    // More than one block of vectors.
    let written = index(3_000);

    let (of_file, read) = opened(&file(&written)).expect("it is whole");

    assert_eq!(of_file, header());
    assert_eq!(seen(&read), seen(&written));
    assert_eq!((read.len(), read.places()), (3_000, 3_000));
    assert_eq!((read.documents(), read.words()), (written.documents(), written.words()));
    assert_eq!(read.alone().analyzer_of(1), written.alone().analyzer_of(1));
    assert_eq!(read.recent_bytes(), 0, "what is large stays in the file");
    assert!(read.bytes() < written.bytes() / 2);
    use_in_every_way(read);
}

#[test]
fn what_is_dead_is_not_written() {
    let mut worn = index(200);
    worn.put(&row(3, 1, "", Some([5.0, 1.0]))).expect("there is room");
    worn.retain(&(1..=200).filter(|id| id % 7 != 0).collect());

    let bytes = file(&worn);
    let (_, read) = opened(&bytes).expect("it is whole");

    assert_eq!(seen(&read), seen(&worn));
    assert_eq!((read.len(), read.places()), (worn.len(), worn.len()));
    assert_eq!(read.alone().document_places(), worn.documents());
    assert_eq!(read.matrix.dead(), 0);
    assert_eq!(file(&read), bytes, "it is as if nothing else had ever been there");
}

#[test]
fn an_empty_index_can_be_read() {
    let (_, read) = opened(&file(&UserIndex::default())).expect("it is whole");

    assert_eq!((read.len(), nearest(&read)), (0, Vec::new()));
    let mut without_vectors = index(20);
    without_vectors.drop_vectors();
    let (_, read) = opened(&file(&without_vectors)).expect("it is whole");
    assert_eq!((read.len(), nearest(&read)), (20, Vec::new()));
}

#[test]
fn what_is_in_several_files_ranks_as_what_is_in_one_or_in_memory() {
    let whole = index(300);
    let mut parts = UserIndex::default();
    for (number, n) in (0..300_u16).enumerate() {
        parts = with_chunk(parts, n);
        if number % 90 == 50 {
            parts = spilled(parts);
        }
    }
    let rankings = |index: &UserIndex| {
        let ranked = WORDS
            .map(|word| bm25::rank(&index.alone(), &of_query(word, index.alone().analyzers()), None, 100));
        let having = WORDS.map(|word| {
            let mut having = index.alone().having_all(&of_query(word, index.alone().analyzers()));
            having.sort_unstable();
            having
        });
        (ranked, having, seen(index))
    };

    let (_, mut read) = opened(&file(&parts)).expect("it is whole");

    assert_eq!(rankings(&parts), rankings(&whole));
    assert_eq!(rankings(&read), rankings(&whole));
    assert_eq!(file(&parts), file(&whole));
    // Chunks that were removed from the file, and chunks that were added later.
    let live: HashSet<i64> = (1..=310).filter(|id| id % 11 != 0).collect();
    let mut grown = whole;
    for index in [&mut grown, &mut read] {
        index.retain(&live);
        *index = (300..310).fold(std::mem::take(index), with_chunk);
        index.put(&row(3, 1, "", Some([5.0, 1.0]))).expect("there is room");
    }
    assert_eq!(rankings(&read), rankings(&grown));
    assert_eq!(rankings(&spilled(read)), rankings(&grown));
}

#[test]
fn several_threads_rank_as_one_does() {
    let mut whole = index(0);
    for n in 0..30_000_u16 {
        whole = with_chunk(whole, n);
    }
    let (_, mut read) = opened(&file(&whole)).expect("it is whole");
    read = (30_000..30_100).fold(read, with_chunk);
    let whole = (30_000..30_100).fold(whole, with_chunk);
    let words = of_query("wing flow heat cat", whole.alone().analyzers());
    let by = |threads, index: &UserIndex| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| bm25::rank(&index.alone(), &words, None, 1_000))
    };

    let expected = by(1, &whole);

    assert_eq!(expected.len(), 1_000);
    for threads in [1, 2, 3, 7] {
        assert_eq!(by(threads, &whole), expected, "{threads}");
        assert_eq!(by(threads, &read), expected, "{threads}");
    }
}

#[test]
fn an_index_whose_chunks_are_not_in_the_order_of_their_documents_has_no_file() {
    let mut index = UserIndex::default();
    for (id, document) in [(1, 1), (2, 2), (3, 1)] {
        index.put(&row(id, document, "wing", None)).expect("there is room");
    }

    assert!(!can_be_written(&header(), &index));
    assert!(write(&header(), &index, Vec::new()).is_err());
    index.retain(&HashSet::from([1, 2]));
    assert!(can_be_written(&header(), &index));
}

#[test]
fn whatever_is_changed_is_noticed() {
    let whole = file(&index(12));

    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        assert!(opened(&changed).is_none(), "{place}");
        assert!(opened(&whole[..place]).is_none(), "{place}");
    }
    assert!(opened(&[whole.as_slice(), &[0]].concat()).is_none());
}

#[test]
fn a_file_of_several_pieces_is_checked_as_a_whole() {
    let whole = file(&index(60_000));
    assert!(whole.len() > 2 * PIECE);
    assert!(opened(&whole).is_some());

    for place in [0, PIECE - 1, PIECE, 2 * PIECE + 7, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        assert!(opened(&changed).is_none(), "{place}");
    }
    let mut swapped = whole.clone();
    swapped[..2 * PIECE].rotate_left(PIECE);
    assert!(opened(&swapped).is_none(), "pieces have an order");
}

#[test]
fn whatever_is_in_a_file_with_a_right_seal_harms_nobody() {
    let whole = file(&index(12));
    let whole = unsealed(&whole);
    let mut refused = 0;
    let mut check = |bytes: &[u8]| match sealed(bytes) {
        Some((_, index)) => use_in_every_way(index),
        None => refused += 1,
    };

    for place in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = whole.to_vec();
            changed[place] ^= change;
            check(&changed);
        }
        check(&whole[..place]);
        let mut grown = whole.to_vec();
        grown.insert(place, 0);
        check(&grown);
    }

    assert!((2 * whole.len()..5 * whole.len()).contains(&refused), "{refused} of {}", whole.len());
}

#[test]
fn columns_that_contradict_each_other_are_refused() {
    let of = |of_file: &[&[u8]]| {
        let mut out = Writer::new(Vec::new());
        for bytes in of_file {
            out.column(|out| out.write_all(bytes)).expect("there is room");
        }
        let file = out.finish().expect("there is room");
        read_columns(columns(&file.into(), 0)?).map(|index| index.len())
    };
    let ids = [1_i64, 2].map(i64::to_le_bytes);
    let documents = [1_i64, 1].map(i64::to_le_bytes);
    let ids = ids.as_flattened();
    let documents = documents.as_flattened();
    let words = [packed(Analyzer::default(), 3); 2];
    let words = words.as_flattened();
    let postings = [posting(0, 1), posting(1, 1)];
    let postings = postings.as_flattened();
    let term = 9_u32.to_le_bytes();
    let two = 2_u64.to_le_bytes();
    let none = 0_u64.to_le_bytes();
    // One row of two numbers: 8 sketches; a factor and the number of 1 bits; a scale and two numbers.
    let sketches = [0; 64];
    let factors = [0; 8];
    let row = [0, 0, 0x80, 0x3f, 1, 0, 2, 0];

    let good: [&[u8]; COLUMNS] =
        [ids, documents, words, &[1, 0], postings, &term, &two, &two, &sketches, &factors, &row];
    assert_eq!(of(&good), Some(2));
    assert_eq!(of(&good[..COLUMNS - 1]), None, "a column is missing");
    let mut more = good.to_vec();
    more.push(&none);
    assert_eq!(of(&more), None, "there is one too many");
    let same = [1_i64, 1].map(i64::to_le_bytes);
    let backwards = [2_i64, 1].map(i64::to_le_bytes);
    let no_analyzer = [0xff; 8];
    let bad: [(usize, &[u8], &str); 15] = [
        (0, same.as_flattened(), "two chunks with one id"),
        (0, backwards.as_flattened(), "chunks out of order"),
        (0, &ids[..8], "fewer chunks than documents"),
        (2, &no_analyzer, "an analyzer that there is not"),
        (3, &[1], "fewer vectors than chunks"),
        (3, &[1, 1], "more vectors than rows"),
        (3, &[0, 0], "fewer vectors than rows"),
        (3, &[1, 3], "neither a vector nor none"),
        (4, &postings[..4], "fewer postings than their terms have"),
        (5, &[], "postings of no term"),
        (6, &[3, 0, 0, 0, 0, 0, 0, 0], "more postings of a term than there are"),
        (6, &[0xff; 8], "a count that is too large"),
        (7, &[0xff; 8], "rows of too many numbers"),
        (8, &sketches[..56], "fewer sketches than rows"),
        (10, &row[..7], "half a row"),
    ];
    for (place, column, what) in bad {
        let mut columns = good;
        columns[place] = column;
        assert_eq!(of(&columns), None, "{what}");
    }
    let documents = [1_i64, 2, 1].map(i64::to_le_bytes);
    let ids = [1_i64, 2, 3].map(i64::to_le_bytes);
    let words = [packed(Analyzer::default(), 3); 3];
    let mut apart = good;
    let of_chunks = [ids.as_flattened(), documents.as_flattened(), words.as_flattened(), &[1, 0, 0]];
    apart[..4].copy_from_slice(&of_chunks);
    assert_eq!(of(&apart), None, "the chunks of a document are apart");
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
    assert_eq!(read_header(other_version.as_slice()).expect("it can be read"), None);
    assert!(sealed(unsealed(&other_version)).is_none());
    let long = Header { holder: "a".repeat(MAX_HEADER), ..header() };
    assert!(!can_be_written(&long, &index(1)));
}

#[test]
fn the_fuzz_target_gets_past_the_header() {
    let file = file(&index(9));
    let start = PREFIX + encoded(&header()).len();
    let columns = &unsealed(&file)[start..];

    assert_eq!(fuzzing::index(columns).as_deref(), Some(columns));
    assert_eq!(fuzzing::index(&columns[1..]), None);
    assert!(fuzzing::is_index(unsealed(&file)) && !fuzzing::is_index(columns));
}
