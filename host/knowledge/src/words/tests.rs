use std::time::{Duration, Instant};

use super::analyzer::Analyzers;
use super::*;

mod languages;
mod unspaced;

/// Terms of a text in English without pairs of characters, as all texts had them originally.
fn numbers(text: &str) -> Vec<Term> {
    Analyzer::default().words(text).map(|word| word.term).collect()
}

fn queried(query: &str) -> Vec<Term> {
    terms_of(query, Analyzer::default())
}

fn terms_of(query: &str, analyzer: Analyzer) -> Vec<Term> {
    of_query(query, analyzer.into()).iter().filter_map(|word| word.term(analyzer)).collect()
}

/// Parts of a text that match the words of a query.
fn marked<'a>(query: &str, text: &'a str, analyzer: Analyzer) -> Vec<&'a str> {
    find(text, analyzer, &terms_of(query, analyzer)).into_iter().map(|range| &text[range]).collect()
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
fn the_count_of_an_english_text_never_changes() {
    let bytes = count(
        Language::English,
        "Boundary Layers",
        "The wing's flow-field: 3000 naïve layers, don't; наука.",
    );

    let expected = "0b0000009dc411090100034b86250100cd553c380300c121683b0200451a784101005fd1d8c00100535554d90100\
                    727db6ed0100193b3def0100e1fc3ef00100";
    assert_eq!(hex::encode(bytes), expected);
}

#[test]
fn a_word_is_where_it_is_said_to_be() {
    let text = "The café’s example.com, 東京!";

    let found: Vec<_> = Analyzer::default().words(text).map(|word| &text[word.range]).collect();

    assert_eq!(found, ["The", "café’s", "example", "com", "東", "京"]);
}

#[test]
fn what_is_counted_is_read_again() {
    let bytes = count(Language::English, "Wing", "a wing, wings and slipstream");

    let Counted { analyzer, length, terms } = counted(&bytes).expect("it was written so");
    let entries: BTreeMap<_, _> = terms.collect();

    assert_eq!((analyzer, length), (Analyzer::default(), 6));
    assert_eq!(entries[&numbers("wing")[0]], 4);
    assert_eq!(entries[&numbers("slipstream")[0]], 1);
    assert_eq!(entries.len(), 4);
    assert!(counted(&bytes[1..]).is_none() && counted(&[]).is_none());
}

#[test]
fn an_analyzer_of_a_later_release_is_not_guessed() {
    let mut bytes = count(Language::Arabic, "", "東");
    assert!(counted(&bytes).is_some());

    bytes[3] += 1;

    assert!(counted(&bytes).is_none());
}

#[test]
fn a_query_goes_by_the_words_that_tell_something() {
    assert_eq!(queried("What is the boundary of the boundary layer?"), numbers("boundary boundary layer"));
    assert_eq!(queried("to be or not to be"), numbers("to be or not to be"));
    assert_eq!(queried("don't"), numbers("don't"));
    assert_eq!(queried("?!"), [0; 0]);
}

#[test]
fn a_word_that_fills_a_count_is_counted_no_further() {
    let bytes = count(Language::English, "", &"wing ".repeat(70_000));

    let counted = counted(&bytes).expect("it was written so");

    let wing = numbers("wing")[0];
    assert_eq!((counted.length, counted.terms.collect::<Vec<_>>()), (70_000, vec![(wing, u16::MAX)]));
}

#[test]
fn hostile_text_takes_time_in_proportion() {
    for text in [
        "a".repeat(1 << 20),
        "a\u{301}".repeat(1 << 18),
        format!("a{}", "\u{301}".repeat(1 << 18)),
        "_".repeat(1 << 20),
        "\u{fdfa}".repeat(1 << 18),
        "東".repeat(1 << 18),
        "가".repeat(1 << 18),
        "a가".repeat(1 << 18),
        format!("東{}", "\u{3099}".repeat(1 << 18)),
        "das Haus, la maison, дом, 家, بيت, ".repeat(1 << 14),
        "l'".repeat(1 << 18),
    ] {
        for language in [Language::English, Language::French, Language::Russian] {
            let what: String = text.chars().take(3).collect();
            let started = Instant::now();

            let bytes = count(language, &text, &text);
            let detected = Language::of(&text, &text);

            let took = started.elapsed();
            assert!(took < Duration::from_mins(2), "{what:?}: {took:?}");
            assert!(counted(&bytes).is_some(), "{what:?}: {detected:?}");
        }
    }
}

#[test]
fn the_words_of_a_query_are_found_in_a_text_in_every_form() {
    let text = "The Prices of apples; pricing an apple.";

    assert_eq!(
        marked("the price of Apples", text, Analyzer::default()),
        ["Prices", "apples", "pricing", "apple"]
    );
    assert!(marked("", text, Analyzer::default()).is_empty());
}

#[test]
fn what_divides_words_for_typesetters_is_no_part_of_them() {
    for (written, searched) in [
        ("Mit\u{ad}tel\u{ad}al\u{ad}ter", "Mittelalter"),
        ("Donau\u{200b}dampf\u{2060}schiff", "Donaudampfschiff"),
        ("CO₂ and H₂O", "CO2 and H2O"),
        ("note¹", "note¹"),
        ("ภาษา\u{200b}ไทย", "ภาษา\u{200b}ไทย"),
    ] {
        assert_eq!(plain(written), searched);
    }
}

#[test]
fn vowel_points_of_hebrew_and_arabic_are_optional() {
    assert_same("שָׁלוֹם", "שלום");
    assert_same("مَدْرَسَة", "مدرسة");
    assert_ne!(numbers("أمل"), numbers("امل"));
}
