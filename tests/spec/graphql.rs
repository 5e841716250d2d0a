//! GraphQL: queries and mutations of a user's own documents.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Kitbag, User, guests};

/// Query that returns title and snippet of each search result.
const SEARCH: &str = "query ($q: String!) { search(query: $q) { results { document { title } snippet } } }";

fn titles(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().map(|document| document["title"].as_str().expect("a title")).collect()
}

/// Searches and returns the titles of the results.
async fn found(user: &User, query: &str) -> Vec<String> {
    let found = user.ask(SEARCH, json!({ "q": query })).await;
    let results = found["search"]["results"].as_array().expect("a list").clone();
    results.iter().map(|hit| hit["document"]["title"].as_str().expect("a title").to_owned()).collect()
}

#[tokio::test]
async fn the_query_of_the_specification_finds_what_was_ingested() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    ana.ingest(json!([
        { "title": "Whales", "text": "The blue whale is the largest animal that has ever lived." },
        { "title": "Trees", "text": "Oaks grow for three hundred years." },
    ]))
    .await;

    let answer = ana.ask(SEARCH, json!({ "q": "largest animal" })).await;

    let results = &answer["search"]["results"];
    assert_eq!(results[0]["document"], json!({ "title": "Whales" }));
    assert!(results[0]["snippet"].as_str().expect("a snippet").contains("largest"), "{answer}");
    let marked = ana
        .ask("{ search(query: \"animals\") { results { snippet matches { start end } } } }", json!({}))
        .await;
    let result = &marked["search"]["results"][0];
    let snippet = result["snippet"].as_str().expect("a snippet");
    let start = snippet.split("animal").next().expect("the words before").chars().count();
    assert_eq!(result["matches"], json!([{ "start": start, "end": start + "animal".len() }]), "{marked}");
}

#[tokio::test]
async fn a_document_shows_what_was_ingested_and_what_became_of_it() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let ids = ana
        .ingest(json!([{
            "title": "Minutes", "text": "All were there.", "url": "https://a.example/minutes", "author": "Ana",
            "feed": { "key": "board-7", "name": "Board", "label": "committee" },
        }]))
        .await;

    let query = "query ($id: ID!) { document(id: $id) {
        id title url author source feed { key name label source documentCount } text state reason
        artifact { size } createdAt updatedAt
    } }";
    let document = ana.ask(query, json!({ "id": ids[0] })).await["document"].clone();

    let feed = json!({ "key": "board-7", "name": "Board", "label": "committee", "source": "user", "documentCount": 1 });
    for (field, value) in [
        ("id", json!(ids[0])),
        ("title", json!("Minutes")),
        ("url", json!("https://a.example/minutes")),
        ("author", json!("Ana")),
        ("source", json!("user")),
        ("feed", feed),
        ("text", json!("All were there.")),
        ("state", json!("READY")),
        ("reason", json!(null)),
        ("artifact", json!(null)),
    ] {
        assert_eq!(document[field], value, "{field}");
    }
    let created = document["createdAt"].as_str().expect("a time");
    assert!(created.starts_with("20") && created.ends_with('Z'), "{created}");
    let absent = ana.ask(query, json!({ "id": "absent" })).await;
    assert_eq!(absent, json!({ "document": null }));
}

#[tokio::test]
async fn ingesting_again_changes_nothing_or_updates() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let mutation = "mutation ($documents: [IngestDocumentInput!]!) {
        ingest(documents: $documents) { ingested documents { id change } }
    }";
    let ingest = async |text: &str| {
        let documents = json!([{ "title": "Page", "text": text, "url": "https://a.example/" }]);
        ana.ask(mutation, json!({ "documents": documents })).await["ingest"].clone()
    };

    let (first, again, changed) = (ingest("one").await, ingest("one").await, ingest("two").await);

    assert_eq!(first["ingested"], 1);
    let each = [&first, &again, &changed].map(|stored| stored["documents"][0]["change"].clone());
    assert_eq!(each, ["CREATED", "UNCHANGED", "UPDATED"]);
    assert!(first["documents"][0]["id"] == changed["documents"][0]["id"], "{first} {changed}");
}

#[tokio::test]
async fn documents_come_in_pages_and_by_source_feed_and_state() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_operator();
    let documents: Vec<_> = (0..5)
        .map(|number| {
            let feed = (number < 2).then(|| json!({ "key": "low", "name": "Low" }));
            json!({ "title": format!("Document {number}"), "text": format!("text {number}"), "feed": feed })
        })
        .collect();
    ana.ingest(json!(documents)).await;
    ana.call("probe__ingest", json!({ "documents": [{ "title": "Probed", "text": "by a toolkit" }] })).await;
    ana.settled().await;
    let query = "query ($first: Int, $after: String, $source: String, $feed: String, $state: DocumentState) {
        documents(first: $first, after: $after, source: $source, feed: $feed, state: $state) {
            totalCount nodes { title } edges { cursor node { title } } pageInfo { endCursor hasNextPage }
        }
    }";

    let mut pages = Vec::new();
    let mut after = json!(null);
    loop {
        let variables = json!({ "first": 2, "after": after, "source": "user" });
        let page = ana.ask(query, variables).await["documents"].clone();
        assert_eq!(page["totalCount"], 5);
        assert_eq!(page["edges"][0]["node"]["title"], page["nodes"][0]["title"]);
        pages.push(titles(&page["nodes"]).iter().map(ToString::to_string).collect::<Vec<_>>());
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }

    let expected = [&["Document 4", "Document 3"][..], &["Document 2", "Document 1"], &["Document 0"]];
    assert_eq!(pages, expected);
    for (variables, expected) in [
        (json!({ "source": "probe" }), &["Probed"][..]),
        (json!({ "feed": "low" }), &["Document 1", "Document 0"]),
        (json!({ "state": "FAILED" }), &[]),
        (json!({ "source": "user", "state": "READY", "first": 1 }), &["Document 4"]),
    ] {
        let page = ana.ask(query, variables.clone()).await;
        assert_eq!(titles(&page["documents"]["nodes"]), expected, "{variables}");
    }
}

#[tokio::test]
async fn a_search_goes_on_where_it_stopped_and_narrows_by_source_and_author() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_operator();
    let of = |author: &str, number: u32| json!({ "title": format!("{author} {number}"), "text": format!("whale number {number}"), "author": author });
    ana.ingest(json!([of("Ana", 1), of("Ana", 2), of("Ben", 3)])).await;
    ana.call("probe__ingest", json!({ "documents": [{ "title": "Probed", "text": "a whale" }] })).await;
    ana.settled().await;
    let query = "query ($limit: Int, $after: String, $source: String, $author: String) {
        search(query: \"whale\", limit: $limit, after: $after, source: $source, author: $author) {
            mode results { document { title source } score } pageInfo { endCursor hasNextPage }
        }
    }";
    let search = async |variables: Value| ana.ask(query, variables).await["search"].clone();
    let count = |found: &Value| found["results"].as_array().expect("a list").len();

    let first = search(json!({ "limit": 3 })).await;
    let rest = search(json!({ "limit": 3, "after": first["pageInfo"]["endCursor"] })).await;

    assert_eq!((count(&first), count(&rest)), (3, 1));
    assert_eq!(
        (&first["pageInfo"]["hasNextPage"], &rest["pageInfo"]["hasNextPage"]),
        (&json!(true), &json!(false))
    );
    let shown = |found: &Value| found["results"].as_array().expect("a list").clone();
    assert!(shown(&rest).iter().all(|hit| !shown(&first).contains(hit)), "{first} {rest}");
    assert_eq!(first["mode"], "FULL_TEXT", "there is no model");
    assert_eq!(count(&search(json!({ "author": "aNA" })).await), 2);
    let probed = search(json!({ "source": "probe" })).await;
    assert_eq!((count(&probed), &probed["results"][0]["document"]["title"]), (1, &json!("Probed")));
    assert_eq!(count(&search(json!({ "source": "PROBE" })).await), 0, "a source is exact");
}

#[tokio::test]
async fn a_search_has_operators_where_it_says_so() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    ana.ingest(json!([
        { "title": "Draft", "text": "a price for each whale" },
        { "title": "Minutes", "text": "of each whale the price was decided" },
    ]))
    .await;
    let query = "query ($q: String!, $operators: Boolean) {
        search(query: $q, operators: $operators) { results { document { title } } }
    }";
    let count = async |q: &str, operators: Value| {
        let found = ana.ask(query, json!({ "q": q, "operators": operators })).await;
        found["search"]["results"].as_array().expect("a list").len()
    };

    for (q, narrowed) in [("price -title:draft", 1), ("\"the price\"", 1), ("price source:probe", 0)] {
        assert_eq!(count(q, json!(true)).await, narrowed, "{q}");
        assert_eq!(count(q, json!(false)).await, 2, "{q}");
        assert_eq!(found(&ana, q).await.len(), 2, "{q}");
    }
    let refused = ana.ask_for_error(query, json!({ "q": "-whale", "operators": true })).await;
    let problem = &refused.extensions["problems"][0]["message"];
    assert_eq!(problem, "has only filters; add a word or a phrase to search for");
}

#[tokio::test]
async fn one_user_never_sees_or_touches_what_is_of_another_on_any_path() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let (ana, ben) = (kitbag.as_operator(), kitbag.as_user("ben"));
    let page = |text: &str| {
        let feed = json!({ "key": "k", "name": "Feed of Ana" });
        json!([{ "title": "Page", "text": text, "url": "https://a.example/", "author": "Ana", "feed": feed }])
    };
    let of_ana = ana.ingest(page("the secret plans of Ana")).await;
    ana.call("probe__ingest", json!({ "documents": [{ "title": "Probed", "text": "secret" }] })).await;
    ana.settled().await;
    let id = json!({ "id": of_ana[0] });

    let everything = "query ($id: ID!) {
        search(query: \"secret plans page ana\", limit: 50) { results { document { id } } pageInfo { endCursor hasNextPage } }
        probed: search(query: \"secret\", source: \"probe\", author: \"Ana\") { results { score } }
        document(id: $id) { title text }
        documents(first: 100) { totalCount nodes { id } edges { cursor } }
        of_feed: documents(feed: \"k\", source: \"user\") { totalCount }
        feeds { key }
        me { userId documents { total pending ready failed } }
    }";
    let seen = ben.ask(everything, id.clone()).await;
    assert_eq!(
        seen,
        json!({
            "search": { "results": [], "pageInfo": { "endCursor": null, "hasNextPage": false } },
            "probed": { "results": [] },
            "document": null,
            "documents": { "totalCount": 0, "nodes": [], "edges": [] },
            "of_feed": { "totalCount": 0 },
            "feeds": [],
            "me": { "userId": "ben", "documents": { "total": 0, "pending": 0, "ready": 0, "failed": 0 } },
        })
    );
    let delete = "mutation ($id: ID!) { deleteDocument(id: $id) }";
    let (refused, absent) = (
        ben.ask_for_error(delete, id.clone()).await,
        ben.ask_for_error(delete, json!({ "id": "absent" })).await,
    );
    refused.assert("NOT_FOUND", "no such document");
    assert_eq!(refused.answer, absent.answer, "it cannot be told from one that nobody has");
    let path = format!("/documents/{}/artifact", of_ana[0]);
    let (hidden, absent) = (ben.get(&path).await, ben.get("/documents/absent/artifact").await);
    assert_eq!((hidden.status, &hidden.body), (absent.status, &absent.body));
    hidden.assert_problem(404, "no such document");

    let of_ben = ben.ingest(page("what Ben has")).await;

    assert_ne!(of_ana, of_ben, "the same page of two users is two documents");
    let kept =
        ana.ask("query ($id: ID!) { document(id: $id) { text } feeds { name documentCount } }", id).await;
    let feeds = json!([{ "name": "Feed of Ana", "documentCount": 1 }]);
    assert_eq!(kept, json!({ "document": { "text": "the secret plans of Ana" }, "feeds": feeds }));
    assert_eq!(found(&ben, "Ben plans").await.len(), 1);
}

#[tokio::test]
async fn a_deleted_document_is_gone_everywhere() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let ids = ana.ingest(json!([{ "title": "Page", "text": "whales" }])).await;
    assert_eq!(found(&ana, "whales").await, ["Page"]);
    let delete = "mutation ($id: ID!) { deleteDocument(id: $id) }";

    let deleted = ana.ask(delete, json!({ "id": ids[0] })).await;

    assert_eq!(deleted, json!({ "deleteDocument": ids[0] }));
    assert_eq!(found(&ana, "whales").await, [""; 0]);
    let left = ana.ask("{ documents { totalCount } me { documents { total } } }", json!({})).await;
    assert_eq!(left, json!({ "documents": { "totalCount": 0 }, "me": { "documents": { "total": 0 } } }));
    ana.ask_for_error(delete, json!({ "id": ids[0] })).await.assert("NOT_FOUND", "no such document");
}

#[tokio::test]
async fn every_broken_rule_is_named_and_nothing_of_the_batch_is_stored() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let mutation =
        "mutation ($documents: [IngestDocumentInput!]!) { ingest(documents: $documents) { ingested } }";
    let documents = json!([
        { "title": "Good", "text": "good" },
        { "title": " ", "text": "no title" },
        { "title": "No text" },
    ]);

    let refused = ana.ask_for_error(mutation, json!({ "documents": documents })).await;

    refused.assert("INVALID", "nothing is changed");
    refused.assert_problem("documents[1].title", "must not be empty");
    refused.assert_problem("documents[2].text", "is required");
    let left = ana.ask("{ documents { totalCount } }", json!({})).await;
    assert_eq!(left["documents"]["totalCount"], 0);
    for (query, path) in [
        ("{ search(query: \"a\", limit: 51) { mode } }", "limit"),
        ("{ search(query: \"a\", after: \"nowhere\") { mode } }", "after"),
        ("{ documents(first: 0) { totalCount } }", "first"),
        ("{ documents(after: \"MTA\") { totalCount } }", "after"),
    ] {
        let refused = ana.ask_for_error(query, json!({})).await;
        refused.assert("INVALID", "");
        refused.assert_problem(path, "");
    }
}

#[tokio::test]
async fn without_a_token_there_is_no_answer() {
    let kitbag = Kitbag::start().await;

    let headers = [("content-type", "application/json")].map(|(name, value)| {
        (
            name.parse::<http::HeaderName>().expect("a name"),
            value.parse::<http::HeaderValue>().expect("a value"),
        )
    });
    let question = json!({ "query": "{ me { userId } }" }).to_string();
    let answer =
        kitbag.anonymous().send(Method::POST, "/graphql", headers.into_iter().collect(), question).await;

    let challenge =
        format!("Bearer resource_metadata=\"{}.well-known/oauth-protected-resource\"", kitbag.base_url());
    assert!(answer.header("www-authenticate").is_some_and(|said| said.starts_with(&challenge)), "{answer:?}");
    answer.assert_problem(401, "access token");
    for path in ["/documents/1/artifact", "/documents/file?title=A"] {
        kitbag.anonymous().send(Method::POST, path, http::HeaderMap::new(), "").await.assert_status(401);
    }
}

#[tokio::test]
async fn answers_are_json_and_kept_by_nobody() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let ask = async |content_type| -> Answer {
        ana.send(Method::POST, "/graphql", content_type, "{\"query\":\"{ me { userId } }\"}").await
    };

    let answer = ask("application/json; charset=utf-8").await.assert_status(200);

    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.json(), json!({ "data": { "me": { "userId": "ana" } } }));
    let who = "{ me { userId isOperator } }";
    for (user, me) in [
        (&ana, json!({ "userId": "ana", "isOperator": false })),
        (&kitbag.as_operator(), json!({ "userId": "local", "isOperator": true })),
    ] {
        assert_eq!(user.ask(who, json!({})).await, json!({ "me": me }));
    }
    for content_type in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
    {
        ask(content_type).await.assert_problem(415, "application/json");
    }
}
