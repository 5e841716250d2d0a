mod bin;
mod feedback;
mod files;
mod holders;
mod languages;
mod library;
mod memory;
mod operators;
mod partial;
mod starved;

use kitbag_database::sql;
use kitbag_net::egress::{Egress, EgressSettings};

use super::super::embedding::Endpoint;
use super::*;
use crate::{NewDocument, State};
use library::{Library, MEMORY, note, query, tiny_embedder, titles};

#[tokio::test]
async fn documents_are_found_by_their_words_best_first() {
    let library = Library::without_model().await;
    library
        .add(
            "ana",
            [
                note("Wings", "a wing in a slipstream, and the wing's lift"),
                note("Heat", "heat, and once a wing, among many other things that fill the text with words"),
                note("Moon", "nothing of that"),
            ],
        )
        .await;

    let found = library.found("ana", &query("lift of wings")).await;

    assert_eq!(titles(&found), ["Wings", "Heat"]);
    assert_eq!(found.mode, Mode::FullText);
    assert!(found.hits[0].score > found.hits[1].score && !found.has_more);
    assert_eq!(found.hits[0].snippet, "a wing in a slipstream, and the wing's lift");
    assert_eq!(library.find("ana", "slipstreams!").await, ["Wings"]);
    assert_eq!(library.find("ana", "nosuchword").await, [""; 0]);
}

#[tokio::test]
async fn no_search_finds_or_counts_another_users_documents() {
    let library = Library::without_model().await;
    library.add("ana", [note("A", "wing heat"), note("B", "wing moon")]).await;
    let alone = library.found("ana", &query("wing heat")).await;
    let ranking = |library: &Library| {
        let indexes = library.search().indexes.clone();
        async move {
            let entry = indexes.one("ana").await;
            let index = entry.read();
            bm25::rank(&index.alone(), &words::of_query("wing heat", index.alone().analyzers()), None, DEPTH)
        }
    };
    let scores_alone = ranking(&library).await;

    for n in 0..20 {
        library.add("ben", [note(&format!("{n}"), &format!("heat heat heat {n}"))]).await;
    }

    assert_eq!(library.found("ana", &query("wing heat")).await, alone);
    assert_eq!(ranking(&library).await, scores_alone);
    assert_eq!(library.find("ben", "wing moon").await, [""; 0]);
    assert_eq!(library.find("", "wing").await, [""; 0]);
}

#[tokio::test]
async fn with_a_model_meaning_counts_too() {
    let library = Library::with_model().await;
    library.add("ana", [note("Wings", "wing flow wing"), note("Pets", "cat dog")]).await;

    // Only semantic search finds a document without a common word.
    let found = library.found("ana", &query("moon")).await;

    assert_eq!(found.mode, Mode::Hybrid);
    assert_eq!(found.hits.len(), 2);
    assert_eq!(titles(&library.found("ana", &query("cat dog")).await)[0], "Pets");
    assert_eq!(titles(&library.found("ana", &query("flow of wings")).await)[0], "Wings");
}

#[tokio::test]
async fn filters_are_exact_and_come_before_the_ranking() {
    let library = Library::without_model().await;
    let by =
        |author: &str, document: NewDocument| NewDocument { author: Some(author.to_owned()), ..document };
    // More documents match better than either ranking has entries.
    let better: Vec<_> =
        (0..150).map(|n| note(&format!("wing {n}"), &format!("wing wing wing {n}"))).collect();
    library.add_from("user", "ana", better).await;
    library
        .add_from(
            "clipper",
            "ana",
            vec![
                by("Ben Ali", note("One", "one wing among other words of a text")),
                by("Änne", note("Two", "another wing among other words of a text")),
            ],
        )
        .await;
    let only = |source: Option<&str>, author: Option<&str>| Query {
        source: source.map(str::to_owned),
        author: author.map(str::to_owned),
        ..query("wing")
    };

    for (filter, expected) in [
        (only(Some("clipper"), None), vec!["Two", "One"]),
        (only(None, Some("BEN ALI")), vec!["One"]),
        (only(None, Some("änne")), vec!["Two"]),
        (only(Some("clipper"), Some("ben ali")), vec!["One"]),
        (only(Some("user"), Some("ben ali")), vec![]),
        (only(Some("clip"), None), vec![]),
        (only(None, Some("ben")), vec![]),
    ] {
        let mut found = titles(&library.found("ana", &filter).await);
        found.sort_by_key(|title| expected.iter().position(|expected| expected == title));
        assert_eq!(found, expected, "{filter:?}");
    }
    assert_eq!(library.found("ana", &only(Some("user"), None)).await.hits.len(), 10);
}

#[tokio::test]
async fn results_come_in_pages_without_gaps() {
    let library = Library::without_model().await;
    let documents: Vec<_> =
        (1..=25).map(|n| note(&format!("{n}"), &format!("{} end {n}", "wing ".repeat(n)))).collect();
    library.add_from("user", "ana", documents).await;
    let page = |offset| Query { offset, ..query("wing") };

    let pages = [library.found("ana", &page(0)).await, library.found("ana", &page(10)).await];
    let last = library.found("ana", &page(20)).await;

    let mut all: Vec<_> = pages.iter().chain([&last]).flat_map(titles).collect();
    assert_eq!(all.len(), 25);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 25);
    assert!(pages.iter().all(|page| page.has_more) && !last.has_more);
    assert_eq!(library.found("ana", &page(u32::MAX)).await.hits, []);
}

#[tokio::test]
async fn a_query_that_cannot_be_answered_is_refused() {
    let library = Library::without_model().await;

    for (bad, expected) in [
        (query(" \n "), "query"),
        (query(&"é".repeat(2_001)), "2000 characters"),
        (Query { limit: 0, ..query("wing") }, "limit"),
        (Query { limit: 51, ..query("wing") }, "1 to 50"),
    ] {
        let refused =
            library.knowledge.search("ana", vec![Holder::user("ana")], &bad).await.expect_err(expected);
        assert!(
            matches!(&refused, KnowledgeError::Invalid(_)) && refused.to_string().contains(expected),
            "{refused}"
        );
    }
    assert!(
        library.knowledge.search("ana", vec![Holder::user("ana")], &query(&"é".repeat(2_000))).await.is_ok()
    );
    for odd in ["?!", "\"", "a OR b AND NOT (c*", "\0", "\u{301}", "'; DROP TABLE chunks; --"] {
        assert_eq!(library.find("ana", odd).await, [""; 0], "{odd}");
    }
}

#[tokio::test]
async fn what_changes_is_seen_by_the_next_search() {
    let library = Library::with_model().await;
    let [first] = library.add("ana", [note("First", "a wing")]).await;
    assert_eq!(library.find("ana", "wing").await, ["First"]);

    library.add("ana", [note("Second", "another wing")]).await;
    assert_eq!(library.find("ana", "wing").await.len(), 2);

    library.remove("ana", &first).await;
    assert_eq!(library.find("ana", "wing").await, ["Second"]);

    let at = |text: &str| NewDocument { url: Some("https://a.example/".to_owned()), ..note("Third", text) };
    library.add("ana", [at("about the moon")]).await;
    library.add("ana", [at("about a cat")]).await;
    let entry = library.search().indexes.one("ana").await;
    assert_eq!(entry.read().len(), 2, "what was replaced is not found by meaning either");
    let found = library.found("ana", &query("cat")).await;
    assert_eq!((titles(&found)[0].as_str(), found.hits[0].snippet.as_str()), ("Third", "about a cat"));
}

#[tokio::test]
async fn an_index_that_was_kept_ranks_as_one_that_was_just_loaded() {
    let mut library = Library::with_model().await;
    for n in 0..30 {
        let text = format!("wing {} flow heat {}", "moon ".repeat(n % 7), "cat ".repeat(n % 5));
        let [id] = library.add("ana", [note(&format!("{n}"), &text)]).await;
        library.find("ana", "wing").await;
        if n % 3 == 0 {
            library.remove("ana", &id).await;
        }
    }
    let kept = library.found("ana", &query("moon cat")).await;

    let embedder = library.embedder.clone();
    library = library.restarted(embedder, MEMORY).await;

    assert_eq!(library.found("ana", &query("moon cat")).await, kept);
    assert_eq!(kept.hits.len(), 10);
}

#[tokio::test]
async fn a_long_document_is_as_good_as_its_best_passage() {
    let library = Library::without_model().await;
    let filler = "Nothing of interest is said in this sentence. ".repeat(400);
    let long = format!("{filler}A wing in a slipstream has more lift. {filler}");
    library
        .add(
            "ana",
            [note("Long", &long), note("Short", "A wing, and much that has to do with something else.")],
        )
        .await;

    let found = library.found("ana", &query("wing slipstream lift")).await;

    assert_eq!(titles(&found), ["Long", "Short"]);
    assert!(
        found.hits[0].snippet.contains("A wing in a slipstream has more lift."),
        "{}",
        found.hits[0].snippet
    );
    assert!(found.hits[0].snippet.chars().count() <= 242);
}

#[tokio::test]
async fn a_document_without_text_is_found_by_its_title() {
    let library = Library::without_model().await;
    library.add("ana", [NewDocument { text: Some("…".to_owned()), ..note("Slipstream", "") }]).await;

    assert_eq!(library.find("ana", "slipstream").await, ["Slipstream"]);
}

#[tokio::test]
async fn vectors_of_another_model_are_not_compared() {
    let library = Library::with_model().await;
    library.add("ana", [note("Wings", "wing"), note("Pets", "cat")]).await;
    library.execute("UPDATE chunks SET model = 'another'").await;

    let entry = library.search().indexes.one("ana").await;

    let vector = library
        .embedder
        .as_ref()
        .expect("there is one")
        .query("ana", "cat".to_owned())
        .await
        .expect("it runs");
    assert_eq!(entry.read().alone().cosines(&vector, None, 10).nearest, []);
    assert_eq!(titles(&library.found("ana", &query("cat")).await), ["Pets"]);
}

#[tokio::test]
async fn rows_that_are_broken_are_not_found_and_harm_nobody() {
    let library = Library::with_model().await;
    library.add("ana", [note("Wings", "wing"), note("Pets", "cat"), note("Moon", "moon")]).await;
    library.database.write(sql("UPDATE chunks SET vector = $1 WHERE id = 1").bind(vec![1, 2])).await;
    library.database.write(sql("UPDATE chunks SET terms = $1 WHERE id = 2").bind(vec![1])).await;
    library.database.write(sql("UPDATE chunks SET vector = $1 WHERE id = 3").bind(vec![0; 64])).await;

    assert!(library.find("ana", "moon").await.contains(&"Moon".to_owned()));
    assert!(!library.find("ana", "cat").await.is_empty());
}

#[tokio::test]
async fn a_service_that_is_down_leaves_search_by_words() {
    let endpoint = Endpoint {
        url: "http://127.0.0.1:9/v1/embeddings".parse().expect("a URL"),
        model: "m".to_owned(),
        key: None,
    };
    let library = Library::without_model().await;
    library.add("ana", [note("Wings", "wing")]).await;
    let remote = Embedder::remote(Egress::new(EgressSettings::default()), endpoint);
    let search = Search::new(library.knowledge.0.store.clone(), Some(remote), MEMORY, None);

    let found = search.search("ana", &[Holder::user("ana")], &query("wing")).await.expect("words are there");

    assert_eq!((titles(&found), found.mode), (vec!["Wings".to_owned()], Mode::FullText));
    assert_eq!(search.mode(), Mode::Hybrid);
}

#[tokio::test]
async fn many_searches_of_one_user_load_the_index_once() {
    let library = Library::without_model().await;
    library.add("ana", [note("Wings", "wing")]).await;
    let indexes = &library.search().indexes;

    let entries = futures::future::join_all((0..50).map(|_| indexes.one("ana"))).await;

    let first = &entries[0];
    assert!(entries.iter().all(|entry| Arc::ptr_eq(first, entry)));
    assert_eq!(first.read().len(), 1);
}

#[tokio::test]
async fn a_document_is_pending_no_longer_when_it_is_found() {
    let library = Library::with_model().await;
    library.add("ana", [note("Wings", "wing")]).await;

    let found = library.found("ana", &query("wing")).await;

    assert_eq!(found.hits[0].document.state, State::Ready);
}

#[tokio::test]
async fn after_a_failover_indexes_are_loaded_again_although_no_revision_differs() {
    let library = Library::without_model().await;
    library.add("ana", [note("Wings", "wing"), note("Lift", "lift")]).await;
    assert_eq!(library.find("ana", "lift").await, ["Lift"]);

    // As in a database that lost the last change, and assigned its revision to another one.
    let lost = "DELETE FROM chunks WHERE document = (SELECT sequence FROM documents WHERE title = 'Lift')";
    library.execute(lost).await;
    assert_eq!(library.find("ana", "lift").await, ["Lift"], "nothing says that it has changed");
    library.knowledge.forget_indexes();

    assert_eq!(library.find("ana", "lift").await, [""; 0]);
    assert_eq!(library.find("ana", "wing").await, ["Wings"]);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_process_that_the_others_gave_up_does_jobs_again_with_another_id() {
    let library = Library::without_model().await;
    library.add("ana", [note("Wings", "wing")]).await;

    library.execute("DELETE FROM processes").await;
    library.add("ana", [note("Lift", "lift")]).await;

    assert_eq!(library.find("ana", "lift").await, ["Lift"]);
}

#[tokio::test]
async fn a_part_of_a_text_is_counted_in_characters_on_every_engine() {
    let library = Library::without_model().await;
    let ids = library.add("ana", [note("Part", "aé語🦘b")]).await;
    let part = async |user: &str, offset, count| {
        let part = library.knowledge.document_part(&[Holder::user(user)], &ids[0], offset, count).await;
        part.map(|part| (part.text, part.characters)).ok()
    };
    let of = |text: &str| Some((text.to_owned(), 5));

    assert_eq!(part("ana", 0, 5).await, of("aé語🦘b"));
    assert_eq!(part("ana", 1, 3).await, of("é語🦘"));
    assert_eq!(part("ana", 4, u32::MAX >> 1).await, of("b"));
    assert_eq!(part("ana", 1 << 30, 50_000).await, of(""));
    assert_eq!(part("ben", 0, 5).await, None, "another user's");
}
