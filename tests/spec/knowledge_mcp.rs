//! Documents over MCP: clients search and read them with the server's own tools, and as resources.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::{Kitbag, Revision, User, guests};

/// Maximum number of characters of a text in one result of `fetch`.
const PART: usize = 50_000;

/// The URI of a document.
fn uri(id: &str) -> String {
    format!("kitbag://documents/{id}")
}

impl User {
    async fn read(&self, uri: &str) -> Value {
        self.request("resources/read", Some(uri), json!({ "uri": uri })).await
    }

    async fn resources(&self) -> Vec<Value> {
        let (mut all, mut params) = (Vec::new(), json!({}));
        loop {
            let reply = self.request("resources/list", None, params).await;
            let page = reply["result"]["resources"].as_array();
            all.extend_from_slice(page.unwrap_or_else(|| panic!("no resources in {reply}")));
            match reply["result"].get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return all,
            }
        }
    }
}

#[tokio::test]
async fn a_server_without_toolkits_searches_and_fetches() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let documents = json!([
        { "title": "Wombats", "text": "The wombat sleeps.", "url": "https://a.example/wombats", "author": "Una" },
        { "title": "Note", "text": "A wombat again" },
    ]);
    let ids = ana.ingest(documents).await;
    ana.settled().await;

    for revision in Revision::BOTH {
        let ana = ana.clone().speaking(revision).await;
        let names: Vec<_> = ana.all_tools().await.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, ["search", "fetch"], "{revision:?}");

        let found = ana.call("search", json!({ "query": "wombat" })).await;
        let results = found.structured()["results"].as_array().expect("a list").clone();
        assert_eq!(serde_json::from_str::<Value>(found.text()).expect("JSON"), *found.structured());
        let of = |id: &str| results.iter().find(|result| result["id"] == id).expect("it is found");
        assert_eq!(of(&ids[0])["url"], "https://a.example/wombats");
        assert_eq!(of(&ids[1])["url"], format!("{}ui/documents/{}", kitbag.base_url(), ids[1]));

        let fetched = ana.call("fetch", json!({ "id": ids[0] })).await;
        let document = fetched.structured();
        assert_eq!(
            (&document["title"], &document["text"]),
            (&json!("Wombats"), &json!("The wombat sleeps."))
        );
        let metadata = &document["metadata"];
        assert_eq!((&metadata["source"], &metadata["author"]), (&json!("user"), &json!("Una")));
        assert_eq!((&metadata["characters"], metadata.get("nextOffset")), (&json!(18), None));
    }
    // The same tools over REST.
    let body = json!({ "query": "wombat" }).to_string();
    let called = ana.send(Method::POST, "/toolkits/knowledge/tools/search", "application/json", body).await;
    assert_eq!(called.json()["structuredContent"]["results"].as_array().map(Vec::len), Some(2));
    ana.send(Method::POST, "/toolkits/knowledge/tools/nosuch", "application/json", "{}")
        .await
        .assert_status(404);
}

#[tokio::test]
async fn nobody_finds_fetches_or_lists_documents_of_others() {
    let kitbag = Kitbag::start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let ids = ana.ingest(json!([{ "title": "Diary", "text": "The wombat sleeps." }])).await;
    ana.settled().await;

    let found = ben.call("search", json!({ "query": "wombat" })).await;
    assert_eq!(found.structured()["results"], json!([]));
    ben.call("fetch", json!({ "id": ids[0] })).await.assert_tool_error("there is no such document");
    assert_eq!(ben.resources().await, [json!(null); 0]);
    let refused = ben.read(&uri(&ids[0])).await;
    assert_eq!(refused, {
        let nobodys = uri(&"0".repeat(ids[0].len()));
        let mut of_nobody = ben.read(&nobodys).await;
        of_nobody["error"]["data"]["uri"] = uri(&ids[0]).into();
        of_nobody
    });
    assert!(ana.read(&uri(&ids[0])).await["result"]["contents"][0]["text"].is_string());
}

#[tokio::test]
async fn a_long_text_comes_in_parts_that_make_it_whole() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    // Characters of one to four bytes in UTF-8.
    let text: String = (0..3 * PART + 17).map(|n| ['a', 'é', '語', '🦘', ' '][n % 5]).collect();
    let text = text.trim();
    let ids = ana.ingest(json!([{ "title": "Long", "text": text }])).await;
    ana.settled().await;

    let (mut whole, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let fetched = ana.call("fetch", json!({ "id": ids[0], "offset": offset })).await;
        let part = fetched.structured()["text"].as_str().expect("a text").to_owned();
        assert!(part.chars().count() <= PART);
        whole.push_str(&part);
        offset = fetched.structured()["metadata"]["nextOffset"].clone();
    }
    assert!(whole == text, "{} of {} bytes", whole.len(), text.len());

    let read = ana.read(&uri(&ids[0])).await;
    let first = read["result"]["contents"][0]["text"].as_str().expect("a text").to_owned();
    let (first, next) = first.rsplit_once("\n\n[The text goes on in ").expect("it says where");
    let next = next.strip_suffix(']').expect("it ends there");
    assert!(text.starts_with(first) && first.len() <= 60_000, "{} bytes", first.len());
    let read = ana.read(next).await;
    let second = read["result"]["contents"][0]["text"].as_str().expect("a text").to_owned();
    assert!(second.starts_with(&text[first.len()..].chars().take(100).collect::<String>()));

    for offset in [json!(-1), json!(4_000_000_000_u32), json!(0.5)] {
        let refused = ana.call("fetch", json!({ "id": ids[0], "offset": offset })).await;
        refused.assert_invalid_params("/offset");
    }
    let beyond = ana.call("fetch", json!({ "id": ids[0], "offset": 1_000_000_000 })).await;
    assert_eq!(beyond.structured()["text"], "");
}

#[tokio::test]
async fn what_is_found_and_read_has_none_of_the_users_secrets_and_each_call_is_recorded() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    ana.set_secret("probe", "API_KEY", "s3cr3t-of-ana-17").await;
    let document =
        json!([{ "title": "Key s3cr3t-of-ana-17", "text": "The wombat's key is s3cr3t-of-ana-17." }]);
    let ids = ana.ingest(document).await;
    ana.settled().await;

    let found = ana.call("search", json!({ "query": "wombat" })).await;
    let fetched = ana.call("fetch", json!({ "id": ids[0] })).await;
    let listed = ana.resources().await;
    let read = ana.read(&uri(&ids[0])).await;

    assert!(found.raw().contains("wombat") && fetched.raw().contains("wombat"));
    for answer in [found.raw(), fetched.raw(), json!(listed).to_string(), read.to_string()] {
        assert!(answer.contains("Key ") || answer.contains("key is"), "{answer}");
        assert!(!answer.contains("s3cr3t"), "{answer}");
    }
    // Parts that begin or end within a secret contain no piece of it.
    let text = "The wombat's key is s3cr3t-of-ana-17.";
    for offset in 0..text.len() {
        let part = ana.call("fetch", json!({ "id": ids[0], "offset": offset })).await;
        let part = part.structured()["text"].as_str().expect("a text").to_owned();
        let is_clean = ["s3", "cr3t", "of-ana", "-17"].iter().all(|piece| !part.contains(piece));
        assert!(is_clean, "from {offset}: {part}");
    }
    let tools: Vec<_> = ana.logs("knowledge").await.iter().map(|record| record["tool"].clone()).collect();
    assert_eq!(tools[..3], ["search", "fetch", "fetch"]);
    assert_eq!(ben.logs("knowledge").await, [json!(null); 0], "calls of others");
    let seen = kitbag.as_operator().logs("knowledge").await;
    assert_eq!(seen.len(), 3 + text.len());
    assert!(seen.iter().all(|record| record.get("entries").is_none()), "{seen:?}");
}

#[tokio::test]
async fn documents_are_resources_on_pages_newest_first() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let documents: Vec<_> =
        (0..150).map(|n| json!({ "title": format!("D{n}"), "text": format!("wombat {n}") })).collect();
    ana.ingest(json!(documents)).await;
    ana.settled().await;

    for revision in Revision::BOTH {
        let ana = ana.clone().speaking(revision).await;
        let listed = ana.resources().await;
        assert_eq!(listed.len(), 150, "{revision:?}");
        let mut uris: Vec<_> = listed.iter().map(|it| it["uri"].as_str().expect("a URI")).collect();
        uris.sort_unstable();
        uris.dedup();
        assert_eq!(uris.len(), 150);
        assert_eq!((&listed[0]["mimeType"], &listed[0]["title"]), (&json!("text/plain"), &listed[0]["name"]));

        let templates = ana.request("resources/templates/list", None, json!({})).await;
        assert_eq!(
            templates["result"]["resourceTemplates"][0]["uriTemplate"],
            "kitbag://documents/{id}{?offset}"
        );
        let refused = ana.request("resources/list", None, json!({ "cursor": "x" })).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

#[tokio::test]
async fn clients_hear_that_their_documents_have_changed_and_not_those_of_others() {
    let kitbag = Kitbag::start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    for revision in Revision::BOTH {
        let ana = ana.clone().speaking(revision).await;
        let mut events = match revision {
            Revision::Current => {
                let wanted = json!({ "notifications": { "resourcesListChanged": true } });
                let mut events = ana.stream_mcp("subscriptions/listen", None, wanted).await;
                let first = events.next().await.expect("an acknowledgement");
                assert_eq!(first["params"]["notifications"]["resourcesListChanged"], true, "{first}");
                events
            }
            Revision::Older => ana.listen().await,
        };

        ben.ingest(json!([{ "title": "Of Ben", "text": format!("wombat {revision:?}") }])).await;
        ben.settled().await;
        // Longer than the interval at which the server checks for changes.
        let silence = timeout(Duration::from_secs(7), events.next()).await;
        assert!(silence.is_err(), "{revision:?}: {silence:?}");
        let ids = ana.ingest(json!([{ "title": "Of Ana", "text": format!("wombat {revision:?}") }])).await;

        let told = events.next().await.expect("the stream is open");
        assert_eq!(told["method"], "notifications/resources/list_changed", "{revision:?}");
        assert_eq!(ana.resources().await[0]["uri"], uri(&ids[0]), "told after it is true");
    }
}

#[tokio::test]
async fn an_operator_may_offer_none_of_it() {
    let kitbag = Kitbag::start_with(|settings| settings.knowledge_tools = false).await;
    let ana = kitbag.as_user("ana");
    let ids = ana.ingest(json!([{ "title": "Diary", "text": "The wombat sleeps." }])).await;
    ana.settled().await;

    assert_eq!(ana.all_tools().await, [json!(null); 0]);
    ana.call("fetch", json!({ "id": ids[0] })).await.assert_unknown_tool();
    assert_eq!(ana.resources().await, [json!(null); 0]);
    assert!(ana.read(&uri(&ids[0])).await.get("error").is_some());
}
