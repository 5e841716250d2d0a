//! Search while a new model has not embedded everything yet.

use std::path::PathBuf;

use tempfile::TempDir;

use super::super::previous::{Previous, find};
use super::*;
use crate::embedding::tiny_model;
use crate::passages::embedded;

struct Model {
    folder: TempDir,
    embedder: Embedder,
}

impl Model {
    async fn new(seed: u32) -> Self {
        let folder = TempDir::new().expect("a scratch folder");
        tiny_model::write_another(folder.path(), seed);
        let embedder = Embedder::open(folder.path()).await.expect("the model is whole");
        Self { folder, embedder }
    }

    /// Vector of a document with this text.
    async fn vector(&self, text: &str) -> Vec<f32> {
        self.embedder.query("ana", embedded(TITLE, text)).await.expect("it runs")
    }
}

/// Title of each document.
const TITLE: &str = "Note";

/// Texts of documents, each with other words.
fn texts() -> Vec<String> {
    const WORDS: [&str; 8] = ["wing", "flow", "heat", "layer", "shock", "cat", "dog", "moon"];
    WORDS.iter().flat_map(|one| WORDS.iter().map(move |other| format!("{one} {one} {other}"))).collect()
}

/// Library that the first model has embedded completely, and the second one for every other document.
async fn half_read(first: &Model, second: &Model) -> Library {
    let library = Library::new(Some(first.embedder.clone()), MEMORY).await;
    library.add_from("user", "ana", texts().iter().map(|text| note(TITLE, text)).collect()).await;
    for text in texts().iter().skip(1).step_by(2) {
        let vector: Vec<u8> = second.vector(text).await.into_iter().flat_map(f32::to_le_bytes).collect();
        let update = sql("UPDATE chunks SET vector = $1, model = $2
             WHERE document = (SELECT sequence FROM documents WHERE text = $3)");
        library.database.write(update.bind(vector).bind(second.embedder.model()).bind(text)).await;
    }
    library
}

/// Number of texts that find their document among the first three by vector, for each model.
async fn found(search: &Search, first: &Model, second: &Model, with_previous: bool) -> [usize; 2] {
    let entry = search.indexes.fresh("ana").await.expect("an index");
    let mut found = [0; 2];
    for (number, text) in texts().iter().enumerate() {
        let previous = if with_previous { Some(first.vector(text).await) } else { None };
        let vectors = QueryVectors { current: second.vector(text).await, previous };
        let ranking = search.fused("ana", &entry, Vec::new(), vectors, None, true).await.0;
        let best: Vec<_> = ranking.iter().take(3).map(|found| found.chunk).collect();
        let best = search.store.chunk_texts("ana", &best).await.expect("the database works");
        found[number % 2] += usize::from(best.values().any(|found| found == text));
    }
    found
}

#[tokio::test]
async fn what_only_the_previous_model_has_read_is_found_by_its_vectors_among_the_others() {
    let (first, second) = (Model::new(1).await, Model::new(2).await);
    let library = half_read(&first, &second).await;
    let store = library.knowledge.0.store.clone();
    let search = |previous: Option<&Model>| {
        let previous = previous.map(|model| model.embedder.clone());
        Search::new(store.clone(), Some(second.embedder.clone()), previous, MEMORY, None)
    };

    let with_both = search(Some(&first));

    assert_eq!(found(&search(None), &first, &second, false).await[0], 0, "the other half has no vector");
    let [of_first, of_second] = found(&with_both, &first, &second, true).await;
    // The weights are arbitrary, and place some texts very near to each other.
    assert!(of_first > 16 && of_second > 16, "{of_first} and {of_second} of 32");
    // Vector of the second model, as the server obtains it: no document contains this word.
    let all = Query { limit: 50, ..query("stars") };
    let hits = with_both.search("ana", &all).await.expect("it is found by meaning");
    assert_eq!((hits.mode, hits.hits.len(), hits.has_more), (Mode::Hybrid, 50, true));
}

#[tokio::test]
async fn the_previous_model_is_let_go_once_the_current_one_has_read_everything() {
    let (first, second) = (Model::new(1).await, Model::new(2).await);
    let library = half_read(&first, &second).await;
    let store = library.knowledge.0.store.clone();
    let previous = Previous::new(store.clone(), first.embedder.clone(), Duration::from_millis(10));
    assert!(previous.vector("ana", "wing").await.is_some());
    let search =
        Search::new(store, Some(second.embedder.clone()), Some(first.embedder.clone()), MEMORY, None);
    let entry = search.indexes.fresh("ana").await.expect("an index");
    assert!(entry.read().has_previous());

    let library = library.restarted(Some(second.embedder.clone()), MEMORY).await;
    let models = || library.knowledge.0.store.models();
    while models().await.expect("the database works") != [second.embedder.model()] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    while previous.vector("ana", "wing").await.is_some() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let entry = search.indexes.fresh("ana").await.expect("an index");
    assert!(!entry.read().has_previous());
}

#[tokio::test]
async fn the_previous_model_is_the_one_that_has_read_something() {
    let (first, second, third) = (Model::new(1).await, Model::new(2).await, Model::new(3).await);
    let library = half_read(&first, &second).await;
    let store = &library.knowledge.0.store;
    let folders = [PathBuf::from("/nowhere"), third.folder.path().into(), first.folder.path().into()];
    let name = |found: Option<Embedder>| found.map(|embedder| embedder.model().to_owned());

    let found = find(store, &second.embedder, &folders).await.expect("the database works");
    assert_eq!(name(found).as_deref(), Some(first.embedder.model()));
    let none = find(store, &second.embedder, &folders[..2]).await.expect("the database works");
    assert_eq!(name(none), None);

    library.execute("DELETE FROM chunks WHERE id % 2 = 1").await;
    let none = find(store, &second.embedder, &folders).await.expect("the database works");
    assert_eq!(name(none), None);
}
