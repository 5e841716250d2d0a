//! After a crash at any moment, each acknowledged document exists exactly once and can be found.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::harness::{ServerProcess, User};

const DOCUMENTS: usize = 1000;
/// Number of documents per request.
const BATCH: usize = 25;
/// Number of concurrent clients of one user: below the server's limit.
const CLIENTS: usize = 3;
/// Number of times the server is killed, each time later during ingest.
const ROUNDS: u32 = 3;

const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!) {
    ingest(documents: $documents) { documents { id } }
}";

/// Word that occurs only in document `number`.
fn word(number: usize) -> String {
    let letters = b"bcdfghjklm";
    let digits = format!("{number:04}");
    let word: String = digits.bytes().map(|digit| char::from(letters[usize::from(digit - b'0')])).collect();
    format!("q{word}x")
}

fn batch(first: usize) -> Value {
    let document = |number: usize| {
        let text = format!("{} {}", word(number), "A sentence that all of them have. ".repeat(40));
        json!({ "title": format!("Document {number}"), "url": format!("https://a.example/{number}"), "text": text })
    };
    (first..first + BATCH).map(document).collect()
}

/// Ingests all documents; returns the ids of the acknowledged ones, by number.
async fn ingest_all(user: &User) -> BTreeMap<usize, String> {
    let client = |client: usize| async move {
        let mut acknowledged = Vec::new();
        for first in (client * BATCH..DOCUMENTS).step_by(CLIENTS * BATCH) {
            let question = json!({ "query": INGEST, "variables": { "documents": batch(first) } }).to_string();
            let user = user.clone();
            let sent =
                async move { user.send(http::Method::POST, "/graphql", "application/json", question).await };
            // A separate task, because a request panics when the server is killed.
            let Ok(answer) = tokio::spawn(sent).await else { break };
            let Ok(answer) = serde_json::from_slice::<Value>(&answer.body) else { break };
            let documents = answer["data"]["ingest"]["documents"].as_array();
            let documents = documents.unwrap_or_else(|| panic!("not acknowledged: {answer}")).clone();
            let ids = documents.iter().map(|document| document["id"].as_str().expect("an id").to_owned());
            acknowledged.extend((first..).zip(ids));
        }
        acknowledged
    };
    join_all((0..CLIENTS).map(client)).await.into_iter().flatten().collect()
}

/// Lists number and id of all documents; asserts that each is ready.
async fn listed(user: &User) -> Vec<(usize, String)> {
    let query = "query ($after: String) {
        documents(first: 100, after: $after) { nodes { id url state } pageInfo { endCursor hasNextPage } }
    }";
    let (mut all, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = user.ask(query, json!({ "after": after })).await["documents"].clone();
        for document in page["nodes"].as_array().expect("a list") {
            let number = document["url"].as_str().and_then(|url| url.rsplit('/').next()?.parse().ok());
            assert_eq!(document["state"], "READY", "{document}");
            all.push((number.expect("a number"), document["id"].as_str().expect("an id").to_owned()));
        }
        if page["pageInfo"]["hasNextPage"] != true {
            all.sort();
            return all;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

#[tokio::test]
async fn a_server_killed_while_documents_are_ingested_loses_none_and_has_none_twice() {
    let duration = {
        let data = tempfile::tempdir().expect("a scratch directory");
        let server = ServerProcess::start(data.path()).await;
        let started = Instant::now();
        assert_eq!(ingest_all(&server.as_operator().await).await.len(), DOCUMENTS);
        server.kill().await;
        started.elapsed()
    };
    let mut interrupted = 0;

    for round in 1..=ROUNDS {
        let data = tempfile::tempdir().expect("a scratch directory");
        let server = ServerProcess::start(data.path()).await;
        let user = server.as_operator().await;
        let ingesting = tokio::spawn(async move { ingest_all(&user).await });
        sleep(duration * round / (ROUNDS + 1)).await;
        server.kill().await;
        let acknowledged = ingesting.await.expect("no panic");
        interrupted += usize::from(acknowledged.len() < DOCUMENTS);

        let server = ServerProcess::start(data.path()).await;
        let user = server.as_operator().await;
        user.settled().await;
        let there = listed(&user).await;
        assert_once(&there);
        for (number, id) in &acknowledged {
            assert!(there.contains(&(*number, id.clone())), "round {round}: document {number} was lost");
        }
        assert_eq!(there.len() % BATCH, 0, "round {round}: a batch is there in part");

        // Clients without a response resend their documents; documents that were already stored keep their
        // ids.
        let again = ingest_all(&user).await;
        user.settled().await;
        let all = listed(&user).await;
        assert_once(&all);
        assert_eq!(all, again.into_iter().collect::<Vec<_>>());
        assert!(there.iter().all(|known| all.contains(known)), "round {round}: an id has changed");
        assert_eq!(all.len(), DOCUMENTS);
        assert_all_found(&user, &all).await;
        server.kill().await;
    }
    assert!(interrupted > 0, "every ingest was over before the kill, which came after {duration:?}");
}

#[track_caller]
fn assert_once(documents: &[(usize, String)]) {
    for pair in documents.windows(2) {
        assert_ne!(pair[0].0, pair[1].0, "a document is there twice");
    }
}

/// Asserts that every seventh document is the first result for its own word, and occurs once in the results.
async fn assert_all_found(user: &User, documents: &[(usize, String)]) {
    let query = "query ($q: String!) { search(query: $q) { results { document { id } } } }";
    for (number, id) in documents.iter().step_by(7) {
        let found = user.ask(query, json!({ "q": word(*number) })).await;
        let results = found["search"]["results"].as_array().expect("a list");
        assert_eq!(results.first().map(|hit| &hit["document"]["id"]), Some(&json!(id)), "document {number}");
        let times = results.iter().filter(|hit| hit["document"]["id"] == json!(id)).count();
        assert_eq!(times, 1, "document {number}");
    }
}

#[tokio::test]
async fn a_server_killed_again_and_again_while_it_indexes_ends_with_every_document_once() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    let acknowledged = ingest_all(&server.as_operator().await).await;
    server.kill().await;

    for pause in [0, 50, 100, 200] {
        let server = ServerProcess::start(data.path()).await;
        sleep(Duration::from_millis(pause)).await;
        server.kill().await;
    }
    let server = ServerProcess::start(data.path()).await;
    let user = server.as_operator().await;
    user.settled().await;

    let all = listed(&user).await;
    assert_eq!(all, acknowledged.into_iter().collect::<Vec<_>>());
    assert_all_found(&user, &all).await;
}
