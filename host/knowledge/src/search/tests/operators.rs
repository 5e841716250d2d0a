//! Queries with operators.

use super::*;

async fn library() -> Library {
    let library = Library::without_model().await;
    library
        .add_from(
            "user",
            "ana",
            vec![
                note("The new pricing", "who decided on it, and when"),
                note("Pricing", "the new draft: pricing is new for everybody"),
                note("Minutes", "they spoke of new pricing, and of the office"),
                note("Office", "a new office; the pricing of chairs"),
            ],
        )
        .await;
    library.add_from("notes", "ana", vec![note("Old", "new pricing was a draft once")]).await;
    library
}

/// Titles of the results of a query, sorted.
async fn found(library: &Library, query: &str) -> Vec<String> {
    let mut titles = library.find("ana", query).await;
    titles.sort_unstable();
    titles
}

#[tokio::test]
async fn operators_narrow_what_is_found() {
    let library = library().await;
    let all = ["Minutes", "Office", "Old", "Pricing", "The new pricing"];

    for (query, expected) in [
        ("new pricing", &all[..]),
        ("\"new pricing\"", &["Minutes", "Old", "The new pricing"]),
        ("\"new priced\"", &["Minutes", "Old", "The new pricing"]),
        ("\"NEW  pricing!\"", &["Minutes", "Old", "The new pricing"]),
        ("new -\"new pricing\"", &["Office", "Pricing"]),
        ("pricing -draft", &["Minutes", "Office", "The new pricing"]),
        ("pricing -drafts -offices", &["The new pricing"]),
        ("title:pricing", &["Pricing", "The new pricing"]),
        ("title:\"new pricing\"", &["The new pricing"]),
        ("pricing -title:pricing", &["Minutes", "Office", "Old"]),
        ("pricing -title:\"new pricing\"", &["Minutes", "Office", "Old", "Pricing"]),
        ("pricing source:notes", &["Old"]),
        ("pricing source:notes source:user", &all),
        ("pricing -source:NOTES -draft \"office\"", &["Minutes", "Office"]),
        ("pricing source:nobody", &[]),
        ("\"pricing everybody\"", &[]),
        ("\"it and when\" -nosuchword", &["The new pricing"]),
        ("pricing \"nosuchword\"", &[]),
    ] {
        assert_eq!(found(&library, query).await, expected, "{query}");
    }
    assert_eq!(library.find("ben", "pricing -draft").await, [""; 0]);
}

#[tokio::test]
async fn what_a_toolkit_asks_has_no_operators() {
    let library = library().await;
    let asked = Query { has_operators: false, ..query("pricing -draft source:notes") };

    assert_eq!(library.found("ana", &asked).await.hits.len(), 5);
}

#[tokio::test]
async fn conditions_hold_for_what_is_found_by_meaning_too() {
    let library = Library::with_model().await;
    library.add("ana", [note("A", "wing flow"), note("B", "flow wing"), note("C", "moon")]).await;

    assert_eq!(library.find("ana", "\"wing flow\"").await, ["A"]);
    assert_eq!(found(&library, "moon -wing").await, ["C"]);
    assert_eq!(found(&library, "stars -moon").await, ["A", "B"]);
}

#[tokio::test]
async fn a_phrase_is_shown_where_it_is() {
    let library = Library::without_model().await;
    let filling = |word: &str| format!("{word} ").repeat(400);
    let text =
        format!("{} pricing new {} about new pricing, {}", filling("pricing"), filling("b"), filling("c"));
    library.add("ana", [note("Long", &text), note("Other", "pricing, new")]).await;

    let hits = library.found("ana", &query("\"new pricing\"")).await.hits;

    assert_eq!(hits.len(), 1);
    assert!(hits[0].snippet.contains("new pricing"), "{}", hits[0].snippet);
}

#[tokio::test]
async fn a_phrase_in_chinese_is_its_characters_in_order() {
    let library = Library::without_model().await;
    library.add("ana", [note("A", "我们在北京大学学习"), note("B", "我们在大学学习，也去北京")]).await;

    assert_eq!(library.find("ana", "\"北京大学\"").await, ["A"]);
    assert_eq!(found(&library, "学习").await, ["A", "B"]);
    assert_eq!(library.find("ana", "学习 -\"北京大学\"").await, ["B"]);
}

#[tokio::test]
async fn a_condition_that_few_of_many_meet_is_met_on_each_page() {
    let library = Library::without_model().await;
    let text = |n: usize| match n % 20 {
        0 => format!("the heat of a wing {n}"),
        _ => format!("wing wing, the wing of a heat {n}"),
    };
    library.add_from("user", "ana", (0..700).map(|n| note(&format!("{n}"), &text(n))).collect()).await;
    let page = |offset| Query { offset, ..query("wing \"heat of a wing\"") };

    let mut titles_found = Vec::new();
    for (offset, count, has_more) in
        [(0, 10, true), (10, 10, true), (20, 10, true), (30, 5, false), (40, 0, false)]
    {
        let found = library.found("ana", &page(offset)).await;
        assert_eq!((found.hits.len(), found.has_more), (count, has_more), "{offset}");
        titles_found.extend(titles(&found));
    }

    titles_found.sort_unstable();
    titles_found.dedup();
    assert_eq!(titles_found.len(), 35);
    assert!(titles_found.iter().all(|title| title.parse::<usize>().is_ok_and(|n| n % 20 == 0)));
}

#[tokio::test]
async fn a_query_of_operators_alone_is_refused() {
    let library = library().await;

    for bad in ["-draft", "source:user -title:draft", &"-a ".repeat(40)] {
        let refused =
            library.knowledge.search("ana", vec![Holder::user("ana")], &query(bad)).await.expect_err(bad);
        assert!(matches!(refused, KnowledgeError::Invalid(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_word_between_quotation_marks_is_shown_where_it_is() {
    let library = Library::with_model().await;
    let text = format!("{}, {}, once a moon", "wing flow ".repeat(200), "cat dog ".repeat(200));
    library.add("ana", [note("Long", &text), note("Moon", "heat")]).await;

    let hits = library.found("ana", &query("wing flow \"moon\"")).await.hits;

    assert_eq!(hits.len(), 2);
    let long = hits.iter().find(|hit| hit.document.title == "Long").expect("it is found");
    assert!(long.snippet.contains("moon"), "{}", long.snippet);
}
