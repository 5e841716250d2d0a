//! Collection in ten languages, made for these tests. Each query has other word forms than the document that
//! it should find, or parts of its compound words.

use serde::Deserialize;

use super::library::{Library, note, query};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Collection {
    document: Vec<Document>,
    query: Vec<Query>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    text: String,
    /// Title of the document that is the best result.
    finds: String,
}

const COLLECTIONS: [(&str, &str); 10] = [
    ("Chinese", include_str!("languages/chinese.toml")),
    ("English", include_str!("languages/english.toml")),
    ("French", include_str!("languages/french.toml")),
    ("German", include_str!("languages/german.toml")),
    ("Italian", include_str!("languages/italian.toml")),
    ("Japanese", include_str!("languages/japanese.toml")),
    ("Korean", include_str!("languages/korean.toml")),
    ("Portuguese", include_str!("languages/portuguese.toml")),
    ("Russian", include_str!("languages/russian.toml")),
    ("Spanish", include_str!("languages/spanish.toml")),
];

fn collections() -> Vec<(&'static str, Collection)> {
    let parse = |(language, text)| (language, toml::from_str(text).expect("it is a collection"));
    COLLECTIONS.map(parse).into()
}

async fn add(library: &Library, user_id: &str, documents: &[Document]) {
    let documents = documents.iter().map(|document| note(&document.title, &document.text)).collect();
    library.add_from("user", user_id, documents).await;
}

/// Queries that do not find the expected document, with their results.
async fn failures(library: &Library, user_id: &str, language: &str, queries: &[Query]) -> Vec<String> {
    let mut failures = Vec::new();
    for query in queries {
        let found = library.find(user_id, &query.text).await;
        if found.first() != Some(&query.finds) {
            failures.push(format!("{language}: {:?} finds {found:?}", query.text));
        }
    }
    failures
}

#[tokio::test]
async fn documents_are_found_by_other_forms_of_their_words_in_ten_languages() {
    let library = Library::without_model().await;

    let mut failed = Vec::new();
    for (language, collection) in collections() {
        add(&library, language, &collection.document).await;
        failed.extend(failures(&library, language, language, &collection.query).await);
    }

    assert!(failed.is_empty(), "{failed:#?}");
}

#[tokio::test]
async fn one_user_finds_documents_of_ten_languages() {
    let library = Library::without_model().await;
    let collections = collections();
    for (_, collection) in &collections {
        add(&library, "ana", &collection.document).await;
    }

    let mut failed = Vec::new();
    for (language, collection) in &collections {
        failed.extend(failures(&library, "ana", language, &collection.query).await);
    }

    assert!(failed.is_empty(), "{failed:#?}");
}

#[tokio::test]
async fn the_words_of_a_query_are_marked_by_the_language_of_the_document() {
    let library = Library::without_model().await;
    let text = "Die alten Häuser am Fluss sind schön, und in den Gärten davor wachsen viele Blumen.";
    library
        .add("ana", [note("Am Fluss", text), note("Prices", "the prices of the houses of our town")])
        .await;

    let found = library.found("ana", &query("der Garten vor dem Haus")).await;

    let hit = &found.hits[0];
    let marked: Vec<_> = hit.words.iter().map(|range| &hit.snippet[range.clone()]).collect();
    assert_eq!((hit.snippet.as_str(), marked), (text, vec!["Häuser", "Gärten"]));
}
