//! One search over the documents of several holders.

use std::collections::BTreeMap;

use super::*;
use crate::{Holder, Origin};

/// Ingests documents for a holder, and waits until they are ready.
async fn add(library: &Library, holder: &Holder, documents: Vec<NewDocument>) {
    let origin = Origin { holder: holder.clone(), user_id: "ana".to_owned(), source: "user".to_owned() };
    library.make(holder).await;
    library.knowledge.ingest(&origin, documents).await.expect("they keep the rules");
    library.settled_holder(holder).await;
}

/// Titles and scores of all results, best first.
async fn ranking(library: &Library, holders: &[Holder], text: &str) -> Vec<(String, i64)> {
    let query = Query { limit: 50, ..query(text) };
    let found = library.knowledge.search("ana", holders.to_vec(), &query).await.expect("a valid query");
    #[expect(clippy::cast_possible_truncation, reason = "scores are from 0 to 1")]
    let digits = |score: f64| (score * 1e6).round() as i64;
    found.hits.iter().map(|hit| (hit.document.title.clone(), digits(hit.score))).collect()
}

/// Documents of a few words each, of which no two are alike.
fn documents() -> Vec<NewDocument> {
    const WORDS: [&str; 12] = [
        "wing", "heat", "flow", "boundary", "layer", "shock", "wave", "plate", "pressure", "lift", "drag",
        "nozzle",
    ];
    let mut state = 7_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize
    };
    let document = |number| {
        let words: Vec<_> = (0..3 + next() % 30).map(|_| WORDS[next() % WORDS.len()]).collect();
        note(&format!("Report {number} on {}", WORDS[next() % WORDS.len()]), &words.join(" "))
    };
    (0..200).map(document).collect()
}

fn five() -> Vec<Holder> {
    let collections = ["a", "b", "c", "d"].map(Holder::collection);
    [Holder::user("ana")].into_iter().chain(collections).collect()
}

/// Spreads documents over five holders, and gives all of them to another user too, in the same order.
async fn spread(library: &Library) {
    let five = five();
    let mut state = 1_u32;
    for documents in documents().chunks(10) {
        let mut shares: BTreeMap<usize, Vec<NewDocument>> = BTreeMap::new();
        for document in documents {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            shares.entry((state >> 16) as usize % five.len()).or_default().push(document.clone());
        }
        for (holder, documents) in shares {
            add(library, &five[holder], documents.clone()).await;
            add(library, &Holder::user("all"), documents).await;
        }
    }
}

const QUERIES: [&str; 7] = [
    "wing",
    "heat flow in a boundary layer",
    "shock wave pressure",
    "\"shock wave\" drag",
    "title:nozzle lift",
    "plate -drag",
    "report 17",
];

#[tokio::test]
async fn documents_rank_the_same_in_one_holder_or_in_five() {
    for library in [Library::without_model().await, Library::with_model().await] {
        spread(&library).await;
        for text in QUERIES {
            let together = ranking(&library, &[Holder::user("all")], text).await;

            assert!(together.len() > 5, "{text}: {together:?}");
            assert_eq!(ranking(&library, &five(), text).await, together, "{text}");
        }
    }
}

#[tokio::test]
async fn what_a_search_may_not_see_changes_nothing() {
    let library = Library::with_model().await;
    let mine = [Holder::user("ana"), Holder::collection("a")];
    add(&library, &mine[0], vec![note("Wings", "wing lift"), note("Heat", "heat flow")]).await;
    add(&library, &mine[1], vec![note("Drag", "drag of a wing")]).await;
    let before = ranking(&library, &mine, "wing drag").await;

    add(&library, &Holder::collection("b"), vec![note("Other", "wing wing wing drag"); 1]).await;
    add(&library, &Holder::user("ben"), vec![note("Other", "wing drag lift")]).await;

    assert_eq!(ranking(&library, &mine, "wing drag").await, before);
    assert_eq!(before.len(), 3);
    let of_ben = library.knowledge.search("ana", vec![], &query("wing")).await.expect("a valid query");
    assert_eq!((of_ben.hits.len(), of_ben.has_more), (0, false));
}

#[tokio::test]
async fn a_query_chooses_collections_and_a_toolkit_has_no_operators() {
    let library = Library::without_model().await;
    let holders = [Holder::user("ana"), Holder::collection("a"), Holder::collection("b")];
    for (holder, title) in holders.iter().zip(["Mine", "In a", "In b"]) {
        add(&library, holder, vec![note(title, "wing")]).await;
    }
    let titles = async |text: &str| {
        let mut titles: Vec<_> =
            ranking(&library, &holders, text).await.into_iter().map(|(title, _)| title).collect();
        titles.sort();
        titles
    };

    assert_eq!(titles("wing").await, ["In a", "In b", "Mine"]);
    assert_eq!(titles("wing in:mine").await, ["Mine"]);
    assert_eq!(titles("in:a wing in:mine").await, ["In a", "Mine"]);
    assert_eq!(titles("wing -in:b").await, ["In a", "Mine"]);
    // As for a collection that is there, and that this user may not read.
    assert!(titles("wing in:secret").await.is_empty());
}

#[tokio::test]
async fn more_than_64_collections_are_not_searched_at_once() {
    let library = Library::without_model().await;
    let many = |count: usize| {
        let collections = (0..count).map(|number| Holder::collection(&format!("c{number}")));
        [Holder::user("ana")].into_iter().chain(collections).collect::<Vec<_>>()
    };
    let search = async |count, text: &str| library.knowledge.search("ana", many(count), &query(text)).await;

    assert!(search(64, "wing").await.is_ok());
    let refused = search(65, "wing").await.expect_err("too many").to_string();
    assert!(refused.contains("65 collections") && refused.contains("in:NAME"), "{refused}");
    assert!(search(65, "wing in:c7").await.is_ok());
}
