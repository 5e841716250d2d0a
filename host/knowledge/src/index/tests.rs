use super::*;
use crate::words::{Language, of_query};

pub(crate) fn row(id: i64, document: i64, text: &str, vector: Option<[f32; 2]>) -> ChunkRow {
    let bytes = |vector: [f32; 2]| vector.into_iter().flat_map(f32::to_le_bytes).collect();
    let terms = words::count(Language::English, "", text);
    ChunkRow { id, document, terms, vector: vector.map(bytes) }
}

pub(super) fn german(id: i64, text: &str) -> ChunkRow {
    ChunkRow { terms: words::count(Language::German, "", text), ..row(id, id, "", None) }
}

pub(super) fn having(index: &UserIndex, word: &str) -> Vec<(i64, u8)> {
    let words = of_query(word, index.alone().analyzers());
    let mut having = Vec::new();
    index.visit(&words[0], |place, count, _| having.push((index.id_at(place), count)));
    having
}

pub(super) fn nearest(index: &UserIndex) -> Vec<(i64, f32)> {
    let cosines = index.alone().cosines(&[1.0, 0.0], None, usize::MAX);
    let all = cosines.nearest.into_iter().chain(cosines.others);
    all.map(|(place, cosine)| (index.id_at(place), cosine)).collect()
}

#[test]
fn a_row_that_comes_again_is_there_once_with_its_newest_vector() {
    let mut index = UserIndex::default();

    index.put(&row(7, 1, "wing wing", None)).expect("there is room");
    index.put(&row(7, 1, "wing wing", Some([0.0, 1.0]))).expect("there is room");
    index.put(&row(7, 1, "wing wing", Some([1.0, 0.0]))).expect("there is room");

    assert_eq!(having(&index, "wing"), [(7, 2)]);
    assert_eq!(nearest(&index), [(7, 1.0)]);
    assert_eq!((index.len(), index.alone().document_places()), (1, 1));
}

#[test]
fn what_has_gone_is_neither_found_nor_counted() {
    let mut index = UserIndex::default();
    index.put(&row(1, 1, "wing and more words than the other", Some([1.0, 0.0]))).expect("there is room");
    index.put(&row(2, 2, "wing", Some([0.0, 1.0]))).expect("there is room");

    index.retain(&HashSet::from([2, 3]));

    assert_eq!(having(&index, "wing"), [(2, 1)]);
    assert_eq!(nearest(&index), [(2, 0.0)]);
    assert_eq!(index.len(), 1);
    assert_eq!((index.documents(), index.words()), (1, 1));
}

#[test]
fn more_vectors_than_a_block_has_keep_their_owners() {
    let mut index = UserIndex::default();
    for id in 0..2_500_u16 {
        let vector = [f32::from(id), 1.0];
        index.put(&row(i64::from(id), 1, "wing", Some(vector))).expect("there is room");
    }

    let found = nearest(&index);

    assert_eq!(found.len(), 2_500);
    for (id, cosine) in found {
        #[expect(clippy::cast_precision_loss, reason = "they are small")]
        let expected = id as f32;
        // Stored vectors are rounded to 16 bits per number.
        assert!((cosine - expected).abs() <= expected / 100.0, "{id}: {cosine}");
    }
}

#[test]
fn vectors_of_another_size_are_left_out() {
    let mut index = UserIndex::default();
    index.put(&row(1, 1, "wing", Some([1.0, 0.0]))).expect("there is room");
    index.put(&ChunkRow { vector: Some(vec![0; 12]), ..row(2, 2, "wing", None) }).expect("there is room");

    assert_eq!(nearest(&index), [(1, 1.0)]);
    assert_eq!(index.alone().cosines(&[1.0], None, 1).nearest, []);
    assert_eq!(having(&index, "wing").len(), 2);
}

#[test]
fn an_index_of_which_most_is_dead_is_worn() {
    let mut index = UserIndex::default();
    for id in 0..3_000 {
        index.put(&row(id, id, "wing", Some([1.0, 0.0]))).expect("there is room");
    }
    assert!(!index.is_worn());

    index.retain(&(0..1_000).collect());

    assert!(index.is_worn());
}

#[test]
fn what_it_takes_is_what_it_says() {
    let mut index = UserIndex::default();
    let text = (0..100).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    for id in 0..1_000 {
        index.put(&row(id, id, &text, Some([1.0, 0.0]))).expect("there is room");
    }

    assert!(index.bytes() > 1_000 * (100 * 4 + 8), "{}", index.bytes());
    index.drop_vectors();
    assert_eq!(nearest(&index), []);
    assert_eq!(having(&index, "w5").len(), 1_000);
}

#[test]
fn the_nearest_of_many_are_exact_and_only_those_that_count_are_compared() {
    const COUNT: u16 = 40_000;

    let mut index = UserIndex::default();
    let vector = |id: u16| {
        let angle = f32::from(id) * 3.0 / f32::from(COUNT);
        [angle.cos(), angle.sin()]
    };
    for id in 0..COUNT {
        let document = i64::from(id);
        index.put(&row(document, document, "wing", Some(vector(id)))).expect("there is room");
    }

    let all = index.alone().cosines(&vector(20_000), None, usize::MAX);
    let even = index.alone().cosines(&vector(20_000), Some(&(0..COUNT.into()).step_by(2).collect()), 1_000);

    assert_eq!(all.nearest.len() + all.others.len(), usize::from(COUNT));
    assert!(all.nearest.len() >= 8_192, "{}", all.nearest.len());
    assert!(even.others.is_empty(), "the nearest are of enough documents");
    for (place, cosine) in &even.nearest {
        let [x, y] = vector(u16::try_from(*place).expect("there are 40,000"));
        let [u, v] = vector(20_000);
        assert!((cosine - (x * u + y * v)).abs() < 1e-4, "{place}: {cosine}");
    }
    assert!(even.nearest.iter().all(|(place, _)| place % 2 == 0));
    let nearest: HashSet<_> = even.nearest.iter().map(|(place, _)| *place).collect();
    assert!((19_000..21_000).step_by(2).all(|place| nearest.contains(&place)), "none of the best is missed");
}

#[test]
fn a_word_counts_where_it_is_written_so_in_the_chunks_language() {
    let mut index = UserIndex::default();
    index.put(&row(1, 1, "they die", None)).expect("there is room");
    index.put(&german(2, "die Gärten, die Häuser")).expect("there is room");
    index.put(&row(3, 3, "gart", None)).expect("there is room");

    assert_eq!(having(&index, "Garten"), [(2, 1)]);
    assert_eq!(having(&index, "die Gart"), [(1, 1)]);
    assert_eq!(index.alone().analyzer_of(2), index.chunk(1).expect("it lives").analyzer);
    assert_ne!(index.alone().analyzer_of(2), index.alone().analyzer_of(1));
    assert_eq!(index.alone().analyzer_of(9), Analyzer::default());

    index.retain(&HashSet::from([1, 3]));

    assert!(index.alone().analyzers() == Analyzer::default().into());
}

#[test]
fn a_chunk_takes_no_more_for_its_analyzer() {
    assert_eq!(size_of::<Chunk>(), 12);
}

#[test]
fn chunks_that_are_older_than_analyzers_are_found_as_they_were() {
    // hauser, 図, 書: from a text with `Häuser` and `図書`.
    let mut bytes = 3_u32.to_le_bytes().to_vec();
    for term in [3_299_440_308_u32, 1_709_297_930, 3_284_826_874] {
        bytes.extend_from_slice(&term.to_le_bytes());
        bytes.extend_from_slice(&1_u16.to_le_bytes());
    }
    let mut index = UserIndex::default();

    index.put(&ChunkRow { terms: bytes, ..row(1, 1, "", None) }).expect("there is room");
    index.put(&german(2, "die Häuser, 図書")).expect("there is room");

    assert_eq!(having(&index, "Häuser"), [(1, 1), (2, 1)]);
    assert_eq!(having(&index, "Haus"), [(2, 1)]);
    assert_eq!(having(&index, "図"), [(1, 1), (2, 1)]);
    let words = of_query("図書", index.alone().analyzers());
    let found: Vec<_> = words
        .iter()
        .map(|word| {
            let mut ids = Vec::new();
            index.visit(word, |place, _, _| ids.push(index.id_at(place)));
            ids
        })
        .collect();
    assert_eq!(found, [vec![1], vec![2], vec![1]]);
}
