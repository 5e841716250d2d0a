//! Chinese, Japanese and Korean.

use super::*;

/// Analyzer of new passages with such characters.
fn pairs() -> Analyzer {
    Analyzer::for_passage(Language::English, "", "東")
}

#[test]
fn older_chunks_are_found_by_their_characters() {
    let text = numbers("東京都の図書館");

    assert!(numbers("図書").iter().all(|term| text.contains(term)));
    assert_eq!(queried("図書"), numbers("図書"));
    assert_eq!(numbers("図書").len(), 2);
    assert!(!numbers("ภาษาไทย").is_empty());
    assert_eq!(numbers("… — !?"), [0; 0]);
}

#[test]
fn a_run_is_compared_by_pairs_and_one_character_by_itself() {
    let text: Vec<_> = pairs().words("東京都のサーバー").map(|word| word.term).collect();

    for found in ["東京", "京都", "サーバー", "バー", "都", "サ", "東京都のサーバー"] {
        let query = terms_of(found, pairs());
        assert!(!query.is_empty() && query.iter().all(|term| text.contains(term)), "{found}");
    }
    for absent in ["都京", "京東", "東都", "県"] {
        assert!(!terms_of(absent, pairs()).iter().any(|term| text.contains(term)), "{absent}");
    }
    assert_eq!(terms_of("東京都", pairs()).len(), 2);
    // Pairs do not cross separators.
    assert!(!pairs().words("東、京").any(|word| terms_of("東京", pairs()).contains(&word.term)));
}

#[test]
fn korean_is_found_without_its_particles_however_it_is_composed() {
    let decomposed = "\u{1103}\u{1169}\u{1109}\u{1165}\u{1100}\u{116a}\u{11ab}";
    let text = "도서관에서 KBS에서";

    assert_eq!(marked("도서관", text, pairs()), ["도서관"]);
    assert_eq!(marked(decomposed, text, pairs()), ["도서관"]);
    assert_eq!(marked("kbs", text, pairs()), ["KBS"]);
    assert_eq!(marked("관", text, pairs()), ["관"]);
}

#[test]
fn other_words_of_the_passage_are_words() {
    assert_eq!(marked("layers", "東京 boundary LAYER 3月", pairs()), ["LAYER"]);
    assert_eq!(marked("ｶﾞｽ", "ガス", pairs()), ["ガス"]);
    assert_eq!(marked("東京 layer", "東京layer", pairs()), ["東京", "layer"]);
}

#[test]
fn a_passage_is_as_long_as_its_characters() {
    let bytes = count(Language::English, "", "東京都 wing 東");

    let Counted { analyzer, length, terms } = counted(&bytes).expect("it was written so");

    assert_eq!((analyzer, length, terms.count()), (pairs(), 5, 6));
}
