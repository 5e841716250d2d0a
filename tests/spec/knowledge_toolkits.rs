//! Example toolkits that use the knowledge base, end to end.

use serde_json::{Value, json};

use crate::harness::{Kitbag, User, guests};

/// Calls a tool of `notes`; returns the titles of the notes in its result.
async fn notes(user: &User, tool: &str, arguments: Value) -> Vec<String> {
    let outcome = user.call(tool, arguments).await;
    let notes = outcome.structured()["notes"].as_array().expect("a list").clone();
    notes.iter().map(|note| note["title"].as_str().expect("a title").to_owned()).collect()
}

#[tokio::test]
async fn notes_are_kept_found_and_listed_for_their_user_alone() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NOTES).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));

    for (text, notebook) in [
        ("Buy milk for the cats", json!("Home")),
        ("The cows are well", json!("Farm")),
        ("Call Ben", json!(null)),
    ] {
        let mut note = json!({ "text": text, "notebook": notebook });
        note.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
        ana.call("notes__add", note).await.text();
    }
    ana.ingest(json!([{ "title": "Note: not of the toolkit", "text": "milk, too" }])).await;
    ben.call("notes__add", json!({ "text": "Milk of Ben" })).await.text();
    ana.settled().await;
    ben.settled().await;

    assert_eq!(notes(&ana, "notes__find", json!({ "query": "milk" })).await, ["Buy milk for the cats"]);
    assert_eq!(notes(&ana, "notes__find", json!({ "query": "cows", "notebook": "home" })).await, [""; 0]);
    let all = ["Call Ben", "The cows are well", "Buy milk for the cats"];
    assert_eq!(notes(&ana, "notes__list", json!({})).await, all);
    assert_eq!(notes(&ana, "notes__list", json!({ "notebook": "Farm" })).await, ["The cows are well"]);
    assert_eq!(notes(&ben, "notes__list", json!({})).await, ["Milk of Ben"]);
    let feeds = ana.ask("{ feeds { name label source documentCount } }", json!({})).await;
    let feed =
        |name: &str| json!({ "name": name, "label": "notebook", "source": "notes", "documentCount": 1 });
    assert_eq!(feeds["feeds"], json!([feed("Farm"), feed("Home")]));
}

#[tokio::test]
async fn a_note_that_comes_again_is_the_same_note() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NOTES).await;
    let ana = kitbag.as_user("ana");

    for _ in 0..2 {
        ana.call("notes__add", json!({ "text": "Buy milk" })).await.text();
    }

    let listed = ana.ask("{ documents { totalCount nodes { title source } } }", json!({})).await;
    let node = json!({ "title": "Note: Buy milk", "source": "notes" });
    assert_eq!(listed["documents"], json!({ "totalCount": 1, "nodes": [node] }));
}

#[tokio::test]
async fn a_clipped_page_is_a_document_of_its_site_and_the_toolkit_itself_reaches_nothing() {
    let kitbag = Kitbag::start().await;
    let deployed = kitbag.deploy(guests::CLIPPER).await;
    let ana = kitbag.as_user("ana");

    let clipped =
        ana.call("clipper__clip", json!({ "url": "http://127.0.0.1:9/page", "title": "A page" })).await;
    let refused = ana.call("clipper__clip", json!({ "url": "file:///etc/passwd" })).await;

    assert_eq!(deployed["capabilities"], json!(["scope svc:search", "scope svc:ingest"]));
    assert_eq!(clipped.structured()["site"], "127.0.0.1");
    refused.assert_tool_error("is not the URL of a web page");
    ana.settled().await;
    let query = "{ documents { nodes { title url source feed { key label } state reason } } }";
    let listed = ana.ask(query, json!({})).await;
    let page = &listed["documents"]["nodes"][0];
    assert_eq!((&page["source"], &page["url"]), (&json!("clipper"), &json!("http://127.0.0.1:9/page")));
    assert_eq!(page["feed"], json!({ "key": "127.0.0.1", "label": "site" }));
    // Captures may fetch only from the public internet, not from the server's own network.
    assert_eq!(page["state"], "FAILED", "{page}");
    assert!(page["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{page}");
}
