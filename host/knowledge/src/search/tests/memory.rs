//! Indexes that exceed the memory limit, besides those of other users.

use std::fs;

use super::*;

/// Documents of 150 distinct words each.
fn notes(count: usize) -> Vec<NewDocument> {
    let text =
        |n: usize| (0..150).map(|word| format!("w{}", word * (n % 7 + 1))).collect::<Vec<_>>().join(" ");
    (0..count)
        .map(|n| note(&format!("{n}"), &format!("wing {} {}", text(n), "moon ".repeat(n % 5))))
        .collect()
}

/// Titles and scores of the results of some queries.
async fn rankings(library: &Library, user_id: &str) -> Vec<(String, f64)> {
    let mut rankings = Vec::new();
    for text in ["moon wing", "w12 w14", "w600", "heat"] {
        let found = library.found(user_id, &Query { limit: 50, ..query(text) }).await;
        rankings.extend(found.hits.into_iter().map(|hit| (hit.document.title, hit.score)));
    }
    rankings
}

/// Memory of an index that is entirely in memory.
async fn needed(documents: Vec<NewDocument>) -> usize {
    let library = Library::with_model().await;
    library.add_from("user", "ana", documents).await;
    library.search().indexes.one("ana").await.read().bytes()
}

#[tokio::test]
async fn searches_of_an_index_beyond_the_memory_read_no_more_than_those_of_one_within_it() {
    let needed = needed(notes(300)).await;
    let mut library = Library::with_files(Some(tiny_embedder().await)).await;
    library.add_from("user", "ana", notes(300)).await;
    library.write_file("ana").await;
    let expected = rankings(&library, "ana").await;
    let mut read = Vec::new();

    for (memory, has_file) in [(MEMORY, true), (needed / 4, true), (MEMORY, false), (needed / 4, false)] {
        let file = library.file_of("ana");
        library = library.restarted(Some(tiny_embedder().await), memory).await;
        if !has_file {
            fs::remove_file(file).expect("it is there");
        }
        let indexes = &library.search().indexes;
        assert_eq!(rankings(&library, "ana").await, expected, "{memory}");
        let first = indexes.loaded();
        assert!(first > 0 && indexes.bytes().await <= memory, "{memory}: {first}");
        library.write_file("ana").await;
        let before = indexes.loaded();

        assert_eq!(rankings(&library, "ana").await, expected, "{memory}");

        assert_eq!(indexes.loaded(), before, "what is loaded stays, {memory}");
        read.push(first);
    }
    let [from_file, beyond_from_file, from_rows, beyond_from_rows] = read[..] else { panic!("{read:?}") };
    assert!(beyond_from_file <= 2 * from_file && beyond_from_rows <= 2 * from_rows, "{read:?}");
}

#[tokio::test]
async fn a_user_with_more_documents_than_fit_evicts_few_others() {
    let needed = needed(notes(300)).await;
    let library = Library::with_files(Some(tiny_embedder().await)).await;
    library.add_from("user", "large", notes(300)).await;
    library.write_file("large").await;
    for user in 0..8 {
        library.add_from("user", &format!("small {user}"), notes(4)).await;
    }
    let library = library.restarted(Some(tiny_embedder().await), needed / 4).await;
    let search_all = async || {
        for user in 0..8 {
            rankings(&library, &format!("small {user}")).await;
        }
    };
    search_all().await;
    rankings(&library, "large").await;
    let loaded = library.search().indexes.loaded();

    for _ in 0..3 {
        search_all().await;
        rankings(&library, "large").await;
    }

    assert_eq!(library.search().indexes.loaded(), loaded, "all are in memory beside each other");
}

#[tokio::test]
async fn an_index_that_changes_beyond_the_memory_is_as_one_that_was_just_loaded() {
    let needed = needed(notes(200)).await;
    let library = Library::with_files(Some(tiny_embedder().await)).await;
    let library = library.restarted(Some(tiny_embedder().await), needed / 4).await;
    for batch in notes(200).chunks(25) {
        let ids = library.add_from("user", "ana", batch.to_vec()).await;
        library.find("ana", "wing").await;
        library.remove("ana", &ids[7]).await;
        library.find("ana", "wing").await;
    }
    let kept = rankings(&library, "ana").await;
    assert!(library.search().indexes.bytes().await <= needed / 4);
    library.write_file("ana").await;

    let library = library.restarted(Some(tiny_embedder().await), MEMORY).await;
    fs::remove_file(library.file_of("ana")).expect("it is there");

    assert_eq!(rankings(&library, "ana").await, kept);
}

#[tokio::test]
async fn without_files_what_does_not_fit_the_memory_is_found_by_words_and_then_not_at_all() {
    let text = (0..150).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let documents: Vec<_> = (0..100).map(|n| note(&format!("wing {n}"), &format!("{text} {n}"))).collect();
    let mut library = Library::with_model().await;
    library.add_from("user", "ana", documents).await;
    let needed = library.search().indexes.one("ana").await.read().bytes();

    library = library.restarted(Some(tiny_embedder().await), needed - 4096).await;
    let entry = library.search().indexes.one("ana").await;
    assert!(entry.read().alone().cosines(&[0.25; 16], None, 10).nearest.is_empty());
    assert_eq!(library.find("ana", "wing").await.len(), 10);

    library = library.restarted(Some(tiny_embedder().await), needed / 4).await;
    let refused = library
        .knowledge
        .search("ana", vec![Holder::user("ana")], &query("wing"))
        .await
        .expect_err("nothing fits");
    assert!(matches!(refused, KnowledgeError::Unavailable(_)), "{refused}");
    library.add("ben", [note("Wings", "wing")]).await;
    assert_eq!(library.find("ben", "wing").await, ["Wings"]);
}

#[tokio::test]
async fn users_that_nobody_searches_for_make_room_for_others() {
    let text = (0..150).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    let library = Library::new(None, 200 << 10).await;
    for user in 0..20 {
        let documents: Vec<_> = (0..40).map(|n| note(&format!("{n}"), &format!("{text} wing {n}"))).collect();
        library.add_from("user", &format!("user {user}"), documents).await;
    }

    for round in 0..2 {
        for user in 0..20 {
            assert_eq!(library.find(&format!("user {user}"), "wing").await.len(), 10, "{round}");
        }
    }

    assert!(library.search().indexes.bytes().await <= 200 << 10);
}
