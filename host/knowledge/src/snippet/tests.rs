use super::*;
use crate::words::of_query;

fn cut(passage: &str, query: &str) -> String {
    let analyzer = Analyzer::default();
    let words = of_query(query, analyzer.into());
    let terms: Vec<_> = words.iter().filter_map(|word| word.term(analyzer)).collect();
    snippet(passage, analyzer, &terms)
}

#[test]
fn a_short_passage_is_its_own_snippet() {
    assert_eq!(cut(" A wing\n in a\tslipstream. ", "wing"), "A wing in a slipstream.");
    assert_eq!(cut("", "wing"), "");
}

#[test]
fn a_long_passage_is_cut_around_the_words_of_the_query() {
    let passage =
        format!("{}A wing in a slipstream. {}", "Before it. ".repeat(100), "After it. ".repeat(100));

    let snippet = cut(&passage, "the slipstream of wings");

    assert!(snippet.contains("A wing in a slipstream."), "{snippet}");
    assert!(snippet.starts_with("…") && snippet.ends_with("…"), "{snippet}");
    assert!(snippet.len() <= LENGTH + 2 * ELLIPSIS.len_utf8(), "{}", snippet.len());
    for word in snippet.trim_matches(ELLIPSIS).split(' ') {
        assert!(passage.split(' ').any(|whole| whole == word), "{word:?} is cut: {snippet}");
    }
}

#[test]
fn the_place_with_the_most_different_words_is_shown() {
    let passage = format!("wing wing wing {} heat on a wing {}", "x ".repeat(300), "y ".repeat(300));

    assert!(cut(&passage, "wing heat").contains("heat on a wing"));
}

#[test]
fn without_the_words_the_beginning_is_shown() {
    let snippet = cut(&"one two three ".repeat(100), "moon");

    assert!(snippet.starts_with("one two three") && snippet.ends_with('…'), "{snippet}");
    assert!(snippet.len() > LENGTH / 2);
}

#[test]
fn no_character_is_cut_and_no_snippet_is_long() {
    for text in ["東京", "é", "👩‍👩‍👧‍👧", "a", "ab cd", "\u{301}"] {
        for query in [text, "moon", ""] {
            let snippet = cut(&text.repeat(2_000), query);

            assert!(snippet.len() <= LENGTH + 2 * ELLIPSIS.len_utf8(), "{text}: {}", snippet.len());
            assert!(!snippet.is_empty());
        }
    }
}
