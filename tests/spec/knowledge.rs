//! `ctx.svc`: access of a toolkit to the knowledge base of its calling user.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::{Guest, Kitbag, Outcome, User, eventually, guests};

async fn start(toolkits: &[Guest]) -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    for toolkit in toolkits {
        kitbag.deploy(*toolkit).await;
    }
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

impl User {
    /// Ingests documents through a tool, and waits until no document of the user is pending.
    pub(crate) async fn ingest_by(&self, tool: &str, documents: Value) -> Outcome {
        let outcome = self.call(tool, json!({ "documents": documents })).await;
        self.settled().await;
        outcome
    }

    /// Searches through a tool, and returns the results.
    pub(crate) async fn find_by(&self, tool: &str, arguments: Value) -> Vec<Value> {
        let found = self.call(tool, arguments).await.json();
        found["results"].as_array().expect("a list").clone()
    }
}

impl Outcome {
    /// Parses the text of a successful call as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.text()).expect("the guest answers with JSON")
    }
}

fn titles(results: &[Value]) -> Vec<&str> {
    let mut titles: Vec<_> = results.iter().filter_map(|it| it["document"]["title"].as_str()).collect();
    titles.sort_unstable();
    titles
}

#[tokio::test]
async fn what_a_toolkit_stores_is_its_users_and_attributed_to_it() {
    let (_kitbag, ana) = start(&[guests::PROBE]).await;

    let stored = ana
        .ingest_by(
            "probe__ingest",
            json!([{
                "title": "Whales", "text": "The blue whale is the largest animal.", "author": "Ana B.",
                "url": "https://a.example/whales#top",
                "feed": { "key": "sea-1", "name": "The sea", "label": "magazine" },
            }]),
        )
        .await;

    assert_eq!(stored.json(), json!({ "ingested": 1 }));
    let results = ana.find_by("probe__search", json!({ "query": "largest animal" })).await;
    assert_eq!(results.len(), 1, "{results:?}");
    let (document, id) = (&results[0]["document"], &results[0]["document"]["id"]);
    let expected = json!({
        "id": id, "title": "Whales", "url": "https://a.example/whales", "author": "Ana B.",
        "source": "probe", "feed": "The sea",
    });
    assert_eq!(*document, expected);
    assert!(results[0]["snippet"].as_str().expect("a snippet").contains("blue whale"), "{results:?}");
    let whole = ana.call("probe__get_document", json!({ "id": id })).await.json();
    assert_eq!(whole, json!({ "document": expected, "text": "The blue whale is the largest animal." }));
}

#[tokio::test]
async fn the_same_document_again_keeps_its_id_and_shows_what_came_last() {
    let (_kitbag, ana) = start(&[guests::PROBE]).await;
    let page = |text: &str, feed: &str| {
        let feed = json!({ "key": "k", "name": feed });
        json!([{ "title": "Page", "text": text, "url": "https://a.example/", "feed": feed }])
    };
    let other = json!([{ "title": "Other", "text": "porcupine", "feed": { "key": "k", "name": "Before" } }]);
    ana.ingest_by("probe__ingest", other).await.text();
    ana.ingest_by("probe__ingest", page("walrus", "Before")).await.text();
    let before = ana.find_by("probe__search", json!({ "query": "walrus" })).await;

    ana.ingest_by("probe__ingest", page("narwhal", "After")).await.text();

    let after = ana.find_by("probe__search", json!({ "query": "narwhal" })).await;
    assert_eq!((after.len(), &after[0]["document"]["id"]), (1, &before[0]["document"]["id"]));
    let old = ana.find_by("probe__search", json!({ "query": "walrus" })).await;
    assert!(!json!(old).to_string().contains("walrus"), "{old:?}");
    let text = ana.call("probe__get_document", json!({ "id": after[0]["document"]["id"] })).await.json();
    assert_eq!(text["text"], "narwhal");
    let other = ana.find_by("probe__search", json!({ "query": "porcupine" })).await;
    assert_eq!(other[0]["document"]["feed"], "After", "a feed has one name");
}

#[tokio::test]
async fn a_batch_with_mistakes_is_refused_with_all_of_them_and_nothing_is_stored() {
    let (_kitbag, ana) = start(&[guests::PROBE]).await;

    let refused = ana
        .call(
            "probe__ingest",
            json!({ "documents": [
                { "title": "Good", "text": "antelope" },
                { "title": " ", "text": "antelope", "url": "nowhere" },
                { "title": "No text" },
                { "title": "Two files", "fileUrl": "https://a.example/a.pdf", "audioUrl": "https://a.example/a.mp3" },
                { "title": "Feed", "text": "antelope", "feed": { "key": "", "name": "" } },
            ] }),
        )
        .await;

    for path in [
        "documents[1].title: must not be empty",
        "documents[1].url: must be an absolute http or https URL",
        "documents[2].text: is required where there is neither fileUrl nor audioUrl",
        "documents[3].audioUrl: must not stand beside fileUrl",
        "documents[4].feed.key: must not be empty",
        "documents[4].feed.name: must not be empty",
    ] {
        refused.assert_tool_error(path);
    }
    let documents = ana.ask("{ documents { totalCount } feeds { key } }", json!({})).await;
    assert_eq!(documents, json!({ "documents": { "totalCount": 0 }, "feeds": [] }));
}

#[tokio::test]
async fn what_a_search_may_ask_for_is_bounded() {
    let (_kitbag, ana) = start(&[guests::PROBE]).await;
    let documents: Vec<_> =
        (0..60).map(|n| json!({ "title": format!("N{n}"), "text": format!("heron {n}") })).collect();
    ana.ingest_by("probe__ingest", json!(documents)).await.text();

    for limit in [0, 51, u32::MAX] {
        let refused = ana.call("probe__search", json!({ "query": "heron", "limit": limit })).await;
        refused.assert_tool_error("Invalid(\"limit: ");
    }
    for (arguments, count) in [
        (json!({ "query": "heron" }), 10),
        (json!({ "query": "heron", "limit": 1 }), 1),
        (json!({ "query": "heron", "limit": 50 }), 50),
    ] {
        assert_eq!(ana.find_by("probe__search", arguments).await.len(), count);
    }
}

#[tokio::test]
async fn a_search_is_narrowed_by_source_exactly_and_by_author_in_any_case() {
    let (_kitbag, ana) = start(&[guests::PROBE, guests::NEIGHBOUR]).await;
    ana.ingest_by("probe__ingest", json!([{ "title": "P", "text": "stoat", "author": "Zoë Smith" }]))
        .await
        .text();
    ana.ingest_by("neighbour__ingest", json!([{ "title": "N", "text": "stoat", "author": "Ben" }]))
        .await
        .text();
    ana.ingest(json!([{ "title": "U", "text": "stoat" }])).await;

    for (narrow, expected) in [
        (json!({}), &["N", "P", "U"][..]),
        (json!({ "source": "probe" }), &["P"]),
        (json!({ "source": "neighbour" }), &["N"]),
        (json!({ "source": "user" }), &["U"]),
        (json!({ "source": "Probe" }), &[]),
        (json!({ "author": "ZOË smith" }), &["P"]),
        (json!({ "author": "Zoë" }), &[]),
        (json!({ "source": "neighbour", "author": "Zoë Smith" }), &[]),
    ] {
        let mut arguments = narrow.clone();
        arguments["query"] = "stoat".into();
        // A toolkit finds its user's documents of every source.
        assert_eq!(titles(&ana.find_by("probe__search", arguments).await), expected, "{narrow}");
    }
}

#[tokio::test]
async fn a_secret_of_the_user_is_not_stored() {
    const SECRET: &str = "s3cr3t-of-ana";
    let (kitbag, ana) = start(&[guests::PROBE, guests::NEIGHBOUR]).await;
    // A secret of one toolkit is also redacted from documents of another toolkit.
    ana.set_secret("probe", "API_KEY", SECRET).await;
    let text = format!("the key {SECRET} opens");

    ana.ingest_by("neighbour__ingest", json!([{ "title": text, "text": text, "author": text }])).await.text();
    for field in ["url", "fileUrl", "audioUrl"] {
        let mut document = json!({ "title": "Link", "text": "a link" });
        document[field] = format!("https://a.example/?key={SECRET}").into();
        let refused = ana.call("neighbour__ingest", json!({ "documents": [document] })).await;
        refused.assert_tool_error(&format!("documents[0].{field}: holds a secret of the user"));
    }

    let listed = ana.ask("{ documents { nodes { title text author } } }", json!({})).await;
    let clean = "the key [redacted] opens";
    assert_eq!(listed["documents"]["nodes"], json!([{ "title": clean, "text": clean, "author": clean }]));
    let stopped = kitbag.stop().await;
    for file in ["kitbag.sqlite", "kitbag.sqlite-wal"] {
        let bytes = std::fs::read(stopped.data().join(file)).unwrap_or_default();
        assert!(!bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes()), "{file} holds the secret");
    }
}

#[tokio::test]
async fn more_than_a_call_may_pass_ends_the_call_and_stores_nothing() {
    let (_kitbag, ana) = start(&[guests::PROBE]).await;
    let many: Vec<_> = (0..1001).map(|n| json!({ "title": "N", "text": n.to_string() })).collect();

    let refused = ana.call("probe__ingest", json!({ "documents": many })).await;

    refused.assert_tool_error("documents: at most 1000 at a time; these are 1001");
    assert_eq!(ana.ask("{ documents { totalCount } }", json!({})).await["documents"]["totalCount"], 0);
}

#[tokio::test]
async fn a_file_that_is_not_there_fails_its_document_with_a_reason_and_its_metadata_is_found() {
    let (_kitbag, ana) = start(&[guests::PROBE]).await;

    // Captures from private addresses are refused: the job fails permanently.
    let file = json!([{ "title": "Budget", "fileUrl": "http://169.254.169.254/wolverine.pdf" }]);
    ana.ingest_by("probe__ingest", file).await.text();

    let query = "{ documents(state: FAILED) { nodes { title reason state } } }";
    let failed = ana.ask(query, json!({})).await["documents"]["nodes"].clone();
    assert_eq!(failed[0]["title"], "Budget", "{failed}");
    assert!(failed[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{failed}");
    eventually("it is found by its file's name", async || {
        titles(&ana.find_by("probe__search", json!({ "query": "wolverine" })).await) == ["Budget"]
    })
    .await;
}

#[tokio::test]
async fn what_was_put_off_at_a_stop_is_done_after_the_next_start() {
    let (kitbag, ana) = start(&[guests::PROBE]).await;
    let mut text = String::new();
    for number in 0..200 {
        writeln!(text, "Paragraph {number} about okapis.\n").expect("a string takes everything");
    }
    let documents: Vec<_> =
        (0..300).map(|n| json!({ "title": format!("N{n}"), "text": format!("{n} {text}") })).collect();
    for some in documents.chunks(100) {
        ana.call("probe__ingest", json!({ "documents": some })).await.text();
    }

    let kitbag = kitbag.stop().await.start().await;

    let ana = kitbag.as_user("ana");
    ana.settled().await;
    let counts = ana.ask("{ me { documents { total ready failed } } }", json!({})).await;
    assert_eq!(counts["me"]["documents"], json!({ "total": 300, "ready": 300, "failed": 0 }));
}
