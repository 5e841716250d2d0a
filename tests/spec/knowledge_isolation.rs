//! Isolation of documents: users cannot see documents of other users, sources cannot change documents of
//! other sources.

use serde_json::{Value, json};

use crate::harness::{Kitbag, User, guests};

/// Starts a server with two toolkits; one of them ingests a document of Ana into a feed. Returns the server,
/// Ana, Ben and the document's id.
async fn start() -> (Kitbag, User, User, String) {
    let kitbag = Kitbag::start().await;
    for toolkit in [guests::PROBE, guests::NEIGHBOUR] {
        kitbag.deploy(toolkit).await;
    }
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let document = json!([{
        "title": "Diary of Ana", "text": "The wombat sleeps.", "author": "Ana", "url": "https://a.example/",
        "feed": { "key": "diary", "name": "Diary" },
    }]);
    ana.ingest_by("probe__ingest", document).await.text();
    let found = ana.find_by("probe__search", json!({ "query": "wombat" })).await;
    let id = found[0]["document"]["id"].as_str().expect("an id").to_owned();
    (kitbag, ana, ben, id)
}

/// Queries everything about documents that a user can see through GraphQL.
async fn seen(user: &User) -> Value {
    let query = "{
        me { documents { total pending ready failed } }
        documents { totalCount nodes { title } pageInfo { hasNextPage endCursor } }
        ofSource: documents(source: \"probe\") { totalCount }
        ofFeed: documents(feed: \"diary\") { totalCount }
        feeds { key documentCount }
        search(query: \"wombat\") { results { document { title } } }
        bySource: search(query: \"wombat\", source: \"probe\") { results { document { title } } }
        byAuthor: search(query: \"wombat\", author: \"ana\") { results { document { title } } }
    }";
    user.ask(query, json!({})).await
}

#[tokio::test]
async fn nothing_of_another_user_is_seen_by_any_path() {
    let (_kitbag, ana, ben, id) = start().await;

    let empty = seen(&ben).await;

    assert_eq!(
        empty,
        json!({
            "me": { "documents": { "total": 0, "pending": 0, "ready": 0, "failed": 0 } },
            "documents": {
                "totalCount": 0, "nodes": [], "pageInfo": { "hasNextPage": false, "endCursor": null },
            },
            "ofSource": { "totalCount": 0 },
            "ofFeed": { "totalCount": 0 },
            "feeds": [],
            "search": { "results": [] },
            "bySource": { "results": [] },
            "byAuthor": { "results": [] },
        })
    );
    for narrow in [json!({}), json!({ "source": "probe" }), json!({ "author": "Ana" })] {
        let mut arguments = narrow;
        arguments["query"] = "wombat".into();
        assert_eq!(ben.find_by("probe__search", arguments).await, [json!(null); 0]);
    }
    assert_eq!(seen(&ana).await["documents"]["totalCount"], 1, "the same questions find Ana's: {id}");
}

#[tokio::test]
async fn an_id_of_another_user_is_answered_as_one_that_nobody_has() {
    let (_kitbag, ana, ben, id) = start().await;
    let nobodys = "0".repeat(id.len());
    let (mut of_ana, mut of_nobody) = (Vec::new(), Vec::new());

    for (id, answers) in [(&id, &mut of_ana), (&nobodys, &mut of_nobody)] {
        for tool in ["probe__get_document", "neighbour__get_document"] {
            let outcome = ben.call(tool, json!({ "id": id })).await;
            outcome.assert_tool_error("NotFound");
            answers.push(outcome.raw());
        }
        let variables = json!({ "id": id });
        let read = ben.ask("query ($id: ID!) { document(id: $id) { title text } }", variables.clone()).await;
        assert_eq!(read, json!({ "document": null }));
        let removed = ben.ask_for_error("mutation ($id: ID!) { deleteDocument(id: $id) }", variables).await;
        answers.push(removed.answer.to_string());
        let file = ben.get(&format!("/documents/{id}/artifact")).await.assert_status(404);
        answers.push(String::from_utf8(file.body.to_vec()).expect("text").replace(id.as_str(), "ID"));
    }

    assert_eq!(of_ana, of_nobody);
    assert_eq!(
        ana.call("probe__get_document", json!({ "id": id })).await.json()["text"],
        "The wombat sleeps."
    );
}

#[tokio::test]
async fn the_same_page_of_another_user_or_another_source_is_another_document() {
    let (_kitbag, ana, ben, id) = start().await;
    let page = |title: &str| {
        json!([{
            "title": title, "text": "Overwritten.", "url": "https://a.example/",
            "feed": { "key": "diary", "name": "Renamed" },
        }])
    };

    ben.ingest_by("probe__ingest", page("By Ben")).await.text();
    ana.ingest_by("neighbour__ingest", page("By the neighbour")).await.text();
    ana.ingest(page("By Ana herself")).await;

    let document = "query ($id: ID!) { document(id: $id) { title text source feed { name } } }";
    let untouched = ana.ask(document, json!({ "id": id })).await["document"].clone();
    let expected = json!({
        "title": "Diary of Ana", "text": "The wombat sleeps.", "source": "probe", "feed": { "name": "Diary" },
    });
    assert_eq!(untouched, expected);
    let listed = ana.ask("{ documents { nodes { title source } } feeds { name source } }", json!({})).await;
    assert_eq!(
        listed["documents"]["nodes"],
        json!([
            { "title": "By Ana herself", "source": "user" },
            { "title": "By the neighbour", "source": "neighbour" },
            { "title": "Diary of Ana", "source": "probe" },
        ])
    );
    assert_eq!(
        listed["feeds"],
        json!([
            { "name": "Renamed", "source": "neighbour" },
            { "name": "Diary", "source": "probe" },
            { "name": "Renamed", "source": "user" },
        ])
    );
    assert_eq!(seen(&ben).await["documents"]["totalCount"], 1);
}

#[tokio::test]
async fn whatever_a_guest_says_of_source_and_owner_is_not_heard() {
    let (_kitbag, ana, ben, _id) = start().await;
    let forged = json!([{
        "title": "Forged", "text": "The quokka smiles.", "source": "probe", "user": "ana", "userId": "ana", "id": "1",
    }]);

    ben.ingest_by("neighbour__ingest", forged).await.text();

    let found = ben.find_by("neighbour__search", json!({ "query": "quokka" })).await;
    assert_eq!(found[0]["document"]["source"], "neighbour");
    assert_eq!(ana.find_by("probe__search", json!({ "query": "quokka" })).await, [json!(null); 0]);
}

#[tokio::test]
async fn a_toolkit_reads_collections_of_its_caller_only_with_the_scope_for_them() {
    let (_kitbag, ana, ben, _) = start().await;
    let make = "mutation { createCollection(id: \"handbook\", name: \"Handbook\")
        shareCollection(id: \"handbook\", with: [{ with: { user: \"ben\" }, role: READER }]) }";
    ana.ask(make, json!({})).await;
    let ingest = "mutation($documents: [IngestDocumentInput!]!) {
        ingest(documents: $documents, collection: \"handbook\") { documents { id } } }";
    let documents = json!([{ "title": "Holidays", "text": "The quokka has 30 days." }]);
    let stored = ana.ask(ingest, json!({ "documents": documents })).await;
    let id = &stored["ingest"]["documents"][0]["id"];
    let query = json!({ "query": "quokka" });
    while ben.find_by("probe__search", query.clone()).await.is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }

    // The probe has the scope svc:collections, and its neighbour svc:search alone.
    assert_eq!(ben.find_by("neighbour__search", query.clone()).await.len(), 0);
    assert_eq!(
        ana.find_by("neighbour__search", query.clone()).await.len(),
        0,
        "its curator's own are others"
    );
    ben.call("probe__get_document", json!({ "id": id })).await.text();
    ben.ask(
        "mutation { ingest(documents: [{ title: \"Mine\", text: \"A quokka of Ben.\" }]) { ingested } }",
        json!({}),
    )
    .await;
    ben.settled().await;
    assert_eq!(ben.find_by("neighbour__search", query.clone()).await.len(), 1);
    assert_eq!(ben.find_by("probe__search", query.clone()).await.len(), 2);

    let end = "mutation { unshareCollection(id: \"handbook\", with: { user: \"ben\" }) }";
    ana.ask(end, json!({})).await;

    assert_eq!(ben.find_by("probe__search", query).await.len(), 1);
    let gone = ben.call("probe__get_document", json!({ "id": id })).await;
    let never = ben.call("probe__get_document", json!({ "id": "0".repeat(32) })).await;
    assert_eq!(format!("{gone:?}"), format!("{never:?}"));
}
