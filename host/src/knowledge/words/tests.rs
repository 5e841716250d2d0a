use std::time::{Duration, Instant};

use super::*;

fn numbers(text: &str) -> Vec<Term> {
    terms(text).map(|(_, term)| term).collect()
}

#[track_caller]
fn assert_same(one: &str, other: &str) {
    assert_eq!(numbers(one), numbers(other), "{one:?} and {other:?}");
}

#[test]
fn case_accents_forms_and_endings_do_not_matter() {
    for (one, other) in [
        ("Boundary LAYERS", "boundary layer"),
        ("café", "CAFE"),
        ("re\u{301}sume\u{301}", "résumé"),
        ("ｆｕｌｌｗｉｄｔｈ", "fullwidth"),
        ("wing’s", "wing's"),
        ("wing's", "wings"),
        ("Ärger", "arger"),
        ("Ёлка", "елка"),
        ("flow-field", "flow field"),
        ("docs.example.com", "docs example com"),
        ("snake_case", "snake case"),
    ] {
        assert_same(one, other);
    }
    assert_ne!(numbers("layer"), numbers("lawyer"));
}

#[test]
fn the_number_of_a_word_never_changes() {
    assert_eq!(numbers("layers 3000 東 наука"), [943_478_221, 4_030_659_809, 2_061_940_893, 3_988_159_858]);
}

#[test]
fn scripts_without_spaces_are_found_by_their_characters() {
    let text = numbers("東京都の図書館");

    assert!(numbers("図書").iter().all(|term| text.contains(term)));
    assert_eq!(numbers("図書").len(), 2);
    assert!(!numbers("ภาษาไทย").is_empty());
    assert_eq!(numbers("… — !?"), [0; 0]);
}

#[test]
fn a_word_is_where_it_is_said_to_be() {
    let text = "The café’s example.com, 東京!";

    let found: Vec<_> = terms(text).map(|(range, _)| &text[range]).collect();

    assert_eq!(found, ["The", "café’s", "example", "com", "東", "京"]);
}

#[test]
fn what_is_counted_is_read_again() {
    let bytes = count("Wing", "a wing, wings and slipstream");

    let (length, entries) = counted(&bytes).expect("it was written so");
    let entries: BTreeMap<_, _> = entries.collect();

    assert_eq!(length, 6);
    assert_eq!(entries[&numbers("wing")[0]], 4);
    assert_eq!(entries[&numbers("slipstream")[0]], 1);
    assert_eq!(entries.len(), 4);
    assert!(counted(&bytes[1..]).is_none() && counted(&[]).is_none());
}

#[test]
fn a_query_goes_by_the_words_that_tell_something() {
    assert_eq!(of_query("What is the boundary of the boundary layer?"), numbers("boundary boundary layer"));
    assert_eq!(of_query("to be or not to be"), numbers("to be or not to be"));
    assert_eq!(of_query("don't"), numbers("don't"));
    assert_eq!(of_query("?!"), [0; 0]);
}

#[test]
fn a_word_that_fills_a_count_is_counted_no_further() {
    let bytes = count("", &"wing ".repeat(70_000));

    let (length, entries) = counted(&bytes).expect("it was written so");

    assert_eq!((length, entries.collect::<Vec<_>>()), (70_000, vec![(numbers("wing")[0], u16::MAX)]));
}

#[test]
fn hostile_text_takes_time_in_proportion() {
    for text in
        ["a".repeat(1 << 20), "a\u{301}".repeat(1 << 18), "_".repeat(1 << 20), "\u{fdfa}".repeat(1 << 18)]
    {
        let started = Instant::now();

        let bytes = count(&text, &text);

        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(counted(&bytes).is_some());
    }
}

#[test]
fn the_words_of_a_query_are_found_in_a_text_in_every_form() {
    let text = "The Prices of apples; pricing an apple.";
    let found: Vec<_> =
        found_words("the price of Apples", text).into_iter().map(|range| &text[range]).collect();

    assert_eq!(found, ["Prices", "apples", "pricing", "apple"]);
    assert!(found_words("", text).is_empty());
}
