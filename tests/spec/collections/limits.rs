//! Bad input, and acts on a collection at the same time: clear errors, and nothing is lost or left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Team;
use crate::harness::{Events, Raw, User};

impl User {
    /// Streams notifications of changed resources.
    async fn hear_of_documents(&self) -> Events {
        let wanted = json!({ "notifications": { "resourcesListChanged": true } });
        let mut events = self.stream_mcp("subscriptions/listen", None, wanted).await;
        events.next().await.expect("an acknowledgement");
        events
    }
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_with_the_rule_and_changes_nothing() {
    let team = Team::start().await;
    let ana = &team.ana;
    team.with_handbook(json!([])).await;
    let new = |id: &str, name: &str, description: &str| json!({ "id": id, "name": name, "description": description });
    let (long, longer) = ("x".repeat(201), "x".repeat(2001));

    for id in
        ["", "Handbook", "hand book", "../toolkits", "händbuch", "a\u{0}b", "bin/user:ana", &"a".repeat(65)]
    {
        let refused = ana.post("/collections", &new(id, "A name", "")).await;
        refused.assert_problem(422, "An id has 1 to 64 of the characters a-z, 0-9 and -");
    }
    ana.post("/collections", &new("mine", "Mine", "")).await.assert_problem(422, "choose another id");
    for name in ["", "  ", "two\nlines", "a\u{1b}[2J", &long] {
        let refused = ana.post("/collections", &new("plans", name, "")).await;
        refused.assert_problem(422, "A name is one line of 1 to 200 bytes");
    }
    let refused = ana.post("/collections", &new("plans", "Plans", &longer)).await;
    refused.assert_problem(422, "A description has at most 2000 bytes");
    let huge = "x".repeat(1 << 20);
    ana.post("/collections", &new("plans", &huge, "")).await.assert_status(413);
    ana.patch("/collections/handbook", &json!({ "name": huge })).await.assert_status(413);
    ana.post("/collections", &json!({ "id": "plans", "name": "Plans", "owner": "una" }))
        .await
        .assert_status(400);

    let member = |number: usize| json!({ "user": format!("user-{number}"), "role": "reader" });
    let members = |count: usize| json!({ "members": (0..count).map(member).collect::<Vec<_>>() });
    let share = async |members: Value| ana.post("/collections/handbook/members", &members).await;
    share(members(201)).await.assert_problem(422, "at most 200 users and groups");
    share(members(199)).await.assert_problem(422, "at most 200 users and groups");
    share(members(10_000)).await.assert_status(413);
    for refused in [
        json!({ "role": "reader" }),
        json!({ "user": "una", "group": "sales", "role": "reader" }),
        json!({ "user": "", "role": "reader" }),
        json!({ "user": "a\u{0}", "role": "reader" }),
        json!({ "user": "x".repeat(257), "role": "reader" }),
        json!({ "user": "una", "role": "owner" }),
    ] {
        share(json!({ "members": [refused] })).await.assert_status(400);
    }
    share(json!({ "members": [{ "user": "ana", "role": "reader" }] }))
        .await
        .assert_problem(409, "The last curator of handbook is user:ana");
    ana.delete("/collections/handbook/members?user=nobody")
        .await
        .assert_problem(404, "is not shared with user:nobody");
    ana.delete("/collections/handbook/members").await.assert_status(400);

    let shown = ana.get("/collections/handbook").await.assert_status(200).json();
    let unchanged = json!([{ "user": "ana", "role": "curator" }, { "group": "sales", "role": "reader" }]);
    assert_eq!((&shown["name"], &shown["members"]), (&json!("Handbook"), &unchanged));
    assert_eq!(ana.get("/collections").await.json()["collections"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_user_makes_twenty_collections_at_most() {
    let team = Team::start().await;
    let new = |number: usize| json!({ "id": format!("plans-{number}"), "name": "Plans" });
    for number in 0..20 {
        team.ana.post("/collections", &new(number)).await.assert_status(201);
    }

    team.ana.post("/collections", &new(20)).await.assert_problem(422, "You have made 20 collections");
    team.ana.delete("/collections/plans-0").await.assert_status(204);
    team.ana.post("/collections", &new(20)).await.assert_problem(422, "You have made 20 collections");
    team.ana.delete("/collections/plans-0?purge=true").await.assert_status(204);
    team.ana.post("/collections", &new(20)).await.assert_status(201);
    team.ben.post("/collections", &new(21)).await.assert_status(201);
}

#[tokio::test]
async fn where_operators_make_collections_nobody_else_does() {
    let team = Team::start_with(|settings| settings.collections = Settings::default().collections).await;
    let new = json!({ "id": "handbook", "name": "Handbook" });

    team.ana.post("/collections", &new).await.assert_problem(403, "Only operators may make collections here");
    team.run(&team.ana, &["collection", "new", "handbook"]).await.assert_failed("setting collections");
    team.olga.post("/collections", &new).await.assert_status(201);
    // Not even that it is taken.
    team.ana.post("/collections", &new).await.assert_problem(403, "Only operators may make collections here");
}

#[tokio::test]
async fn an_outsider_hears_nothing_of_a_collection_and_a_reader_does() {
    let team = Team::start().await;
    team.with_handbook(json!([])).await;
    let mut outsider = team.una.hear_of_documents().await;
    let mut reader = team.ben.hear_of_documents().await;

    team.ana.ingest_into("handbook", json!([{ "title": "Travel", "text": "The wombat train." }])).await;

    let told = reader.next().await.expect("the stream is open");
    assert_eq!(told["method"], "notifications/resources/list_changed");
    // Longer than the interval at which the server checks for changes.
    let silence = timeout(Duration::from_secs(7), outsider.next()).await;
    assert!(silence.is_err(), "{silence:?}");
}

#[tokio::test]
async fn a_collection_that_is_deleted_while_it_is_filled_and_searched_loses_nothing() {
    let team = Team::start().await;
    let Team { ana, ben, .. } = &team;
    team.with_handbook(json!([])).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mutation = "mutation ($title: String!) {
        ingest(collection: \"handbook\", documents: [{ title: $title, text: $title }]) { ingested }
    }";

    let filling = {
        let (ana, is_over) = (ana.clone(), is_over.clone());
        tokio::spawn(async move {
            let (mut stored, mut refused) = (0, 0);
            for number in 0.. {
                if is_over.load(Ordering::SeqCst) && stored > 0 && refused > 0 {
                    break;
                }
                let body = json!({ "query": mutation, "variables": { "title": format!("Wombat {number}") } });
                let answer = ana.send(Method::POST, "/graphql", "application/json", body.to_string()).await;
                let answer = answer.assert_status(200).json();
                match &answer["errors"][0]["extensions"]["code"] {
                    Value::Null => stored += 1,
                    code => {
                        assert_eq!(code, "NOT_FOUND", "{answer}");
                        refused += 1;
                    }
                }
            }
            stored
        })
    };
    let searching = {
        let (ben, is_over) = (ben.clone(), is_over.clone());
        tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                ben.ask(
                    "{ search(query: \"wombat\") { results { document { collection } snippet } } }",
                    json!({}),
                )
                .await;
            }
        })
    };
    for _ in 0..20 {
        ana.delete("/collections/handbook").await.assert_status(204);
        ana.post("/collections/handbook/restore", &json!({})).await.assert_status(200);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ana.delete("/collections/handbook").await.assert_status(204);
    is_over.store(true, Ordering::SeqCst);
    let stored = filling.await.expect("no panic");
    searching.await.expect("no panic");
    ana.post("/collections/handbook/restore", &json!({})).await.assert_status(200);

    let shown = ana.get("/collections/handbook").await.json();
    assert_eq!(shown["size"]["documents"], json!(stored), "what was stored is there again");
    ana.settled_in("handbook").await;
}

/// A document that arrives when its collection is gone must not be in the next one with the same id.
#[tokio::test]
async fn an_upload_that_ends_after_its_collection_was_purged_leaves_nothing_behind() {
    let team = Team::start().await;
    let Team { ana, una, kitbag, .. } = &team;
    team.with_handbook(json!([])).await;
    let file = "Salaries of the wombats\n".repeat(4096);
    let mut upload = Raw::connect(kitbag).await;
    let head = format!(
        "POST /documents/file?name=salaries.csv&collection=handbook HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        kitbag.address(),
        ana.token(),
        file.len()
    );
    let (first, rest) = file.split_at(file.len() / 2);
    upload.write(head).await;
    upload.write(first).await;
    // The request has begun: its collection was there.
    tokio::time::sleep(Duration::from_millis(500)).await;

    ana.delete("/collections/handbook").await.assert_status(204);
    ana.delete("/collections/handbook?purge=true").await.assert_status(204);
    upload.write(rest).await;
    let answer = upload.rest().await;

    una.post("/collections", &json!({ "id": "handbook", "name": "Mine" })).await.assert_status(201);
    let listed =
        una.ask("{ documents(collection: \"handbook\") { nodes { title addedBy } } }", json!({})).await;
    assert_eq!(listed["documents"]["nodes"], json!([]), "the upload was answered with {answer}");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

/// Either act wins, as a whole.
#[tokio::test]
async fn a_collection_that_is_purged_and_restored_at_once_is_gone_or_whole() {
    const BATCHES: usize = 10;
    const BATCH: usize = 200;

    let team = Team::start().await;
    let ana = &team.ana;
    team.with_handbook(json!([])).await;
    let mutation = "mutation ($documents: [IngestDocumentInput!]!) {
        ingest(collection: \"handbook\", documents: $documents) { ingested }
    }";
    for batch in 0..BATCHES {
        let document =
            |number: usize| json!({ "title": "Wombat", "text": format!("Wombat {batch} {number}") });
        let documents: Vec<_> = (0..BATCH).map(document).collect();
        ana.ask(mutation, json!({ "documents": documents })).await;
    }
    ana.delete("/collections/handbook").await.assert_status(204);

    let restore = async {
        tokio::time::sleep(Duration::from_millis(15)).await;
        ana.post("/collections/handbook/restore", &json!({})).await
    };
    let (purged, restored) = tokio::join!(ana.delete("/collections/handbook?purge=true"), restore);

    let shown = ana.get("/collections/handbook").await;
    if restored.status == 200 {
        assert_eq!(
            shown.assert_status(200).json()["size"]["documents"],
            json!(BATCHES * BATCH),
            "{purged:?}"
        );
        purged.assert_status(404);
    } else {
        assert_eq!((purged.status.as_u16(), shown.status.as_u16()), (204, 404), "{restored:?}");
    }
}

#[tokio::test]
async fn a_full_collection_says_so_and_the_bin_counts() {
    let team = Team::start_with(|settings| settings.documents_per_collection = 2).await;
    let ana = &team.ana;
    let note = |name: &str| json!({ "title": name, "text": format!("The wombat of {name}.") });
    let ids = team.with_handbook(json!([note("One"), note("Two")])).await;
    let own = ana.ingest(json!([note("Three")])).await.remove(0);
    let move_there = ["documents", "move", &own, "--to", "handbook"];
    let is_full = "the collection has 2 of the 2 documents that it may have";

    team.run(ana, &move_there).await.assert_failed(is_full);
    team.say(ana, &["documents", "delete", &ids[0]]).await;
    team.run(ana, &move_there).await.assert_failed(is_full);
    team.say(ana, &["documents", "purge", &ids[0], "--collection", "handbook", "--yes"]).await;
    team.say(ana, &move_there).await;

    assert_eq!(team.found(&team.ben, "wombat").await.len(), 2);
    assert_eq!(team.json(ana, &["documents"]).await, json!([]), "it is not counted twice");
}

#[tokio::test]
async fn of_more_than_64_collections_the_caller_chooses() {
    let team = Team::start().await;
    let everyone = json!({ "members": [{ "everyone": true, "role": "reader" }] });
    for number in 0..65 {
        let maker = [&team.ana, &team.ben, &team.una, &team.olga][number % 4];
        let id = format!("plans-{number}");
        maker.post("/collections", &json!({ "id": id, "name": "Plans" })).await.assert_status(201);
        maker.post(&format!("/collections/{id}/members"), &everyone).await.assert_status(200);
    }
    team.una.ingest_into("plans-2", json!([{ "title": "Plan", "text": "The wombat train." }])).await;

    let all = team.run(&team.ben, &["search", "wombat"]).await;
    all.assert_failed("at most 64 are searched at once");
    all.assert_failed("in:NAME");
    for chosen in [&["search", "wombat", "--in", "plans-2"][..], &["search", "wombat in:plans-2"]] {
        let found = team.json(&team.ben, chosen).await;
        assert_eq!(found["results"][0]["document"]["title"], "Plan", "{chosen:?}");
    }
    assert_eq!(team.json(&team.ben, &["search", "wombat", "--in", "mine"]).await["results"], json!([]));
    assert_eq!(team.json(&team.ben, &["collection", "list"]).await.as_array().map(Vec::len), Some(65));
}
