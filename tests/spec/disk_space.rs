//! Nearly full disk: requests that need disk space are refused, all others are served.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::capture::capturing;
use crate::fetch::probe;
use crate::harness::{Files, Http, Kitbag, ask_raw, guests};
use crate::metrics::free_address;

const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!) {
    ingest(documents: $documents) { documents { id } }
}";

#[tokio::test]
async fn nothing_that_takes_room_is_stored_and_everything_else_goes_on() {
    let (kitbag, ana) = probe(capturing).await;
    let ids =
        ana.ingest(json!([{ "title": "Orca", "text": "a whale" }, { "title": "Cow", "text": "no whale" }]));
    let ids = ids.await;
    let stored = kitbag.as_operator().deploy(guests::HINTS.bytes()).await;
    stored.assert_status(201);

    // The minimum of free space exceeds the size of any disk.
    let kitbag = kitbag.stop().await.changed(|settings| {
        settings.free_disk_space = "1000000TB".parse().expect("a size");
    });
    let kitbag = kitbag.start().await;
    let (ana, operator) = (kitbag.as_user("ana"), kitbag.as_operator());

    let documents = json!({ "documents": [{ "title": "B", "text": "b" }] });
    ana.ask_for_error(INGEST, documents.clone()).await.assert("UNAVAILABLE", "disk is nearly full");
    let uploaded = ana.send(Method::POST, "/documents/file?title=B", "text/plain", "b").await;
    uploaded.assert_problem(507, "disk is nearly full");
    ana.call("probe__ingest", documents).await.assert_tool_error("disk is nearly full");
    operator.deploy(guests::HOSTILE.bytes()).await.assert_problem(507, "disk is nearly full");
    let secret = ana.put("/toolkits/probe/secrets/API_KEY", "a value of a secret").await;
    secret.assert_problem(507, "disk is nearly full");

    assert_eq!(ana.call("hints__plain", json!({})).await.text(), "plain");
    let found = ana.ask("{ search(query: \"whale\") { results { document { title } } } }", json!({})).await;
    assert_eq!(found["search"]["results"].as_array().map(Vec::len), Some(2), "{found}");
    ana.ask("mutation ($id: ID!) { deleteDocument(id: $id) }", json!({ "id": ids[0] })).await;
    assert_eq!(ana.logged("hints__plain").await["outcome"], "succeeded", "calls are still recorded");
    operator.delete("/toolkits/hints").await.assert_status(204);
    let said = kitbag.log().text().matches("the disk is nearly full").count();
    assert_eq!(said, 1, "the log says it once");
}

#[tokio::test]
async fn a_disk_that_is_full_shows_where_operators_look() {
    let objects = tempfile::tempdir().expect("a scratch directory");
    let metrics_address = free_address();
    let kitbag = Kitbag::start_with(|settings| {
        let folder = format!("folder:{}", objects.path().join("objects").display());
        settings.objects = folder.parse().expect("a folder");
        settings.metrics_listen = metrics_address.to_string().parse().expect("an address");
    })
    .await;
    let metrics = Http::new(format!("http://{metrics_address}").parse().expect("a URL"));
    let shown = async |kitbag: &Kitbag| {
        let readiness = kitbag.anonymous().get("/readyz").await.assert_status(200).json();
        let metrics = metrics.get("/metrics").await.assert_status(200).text().to_owned();
        let is_full = |disk: &str| metrics.contains(&format!("\nkitbag_{disk}_room_bytes 0\n"));
        assert!(metrics.contains("\nkitbag_objects_disk_room_bytes "), "{metrics}");
        (readiness["full"].clone(), is_full("disk"), is_full("objects_disk"))
    };
    assert_eq!(shown(&kitbag).await, (Value::Null, false, false));

    let kitbag = kitbag.stop().await.changed(|settings| {
        settings.free_disk_space = "1000000TB".parse().expect("a size");
    });
    let kitbag = kitbag.start().await;

    assert_eq!(shown(&kitbag).await, (json!(["data", "objects"]), true, true));
    let log = kitbag.log().text();
    assert!(log.contains(&objects.path().join("objects").display().to_string()), "{log}");
}

#[tokio::test]
async fn a_body_without_a_length_and_machine_code_take_room_too() {
    let (kitbag, _) = probe(capturing).await;
    let code = kitbag.files("code");
    let stopped = kitbag.stop().await;
    std::fs::remove_dir_all(stopped.data().join("code")).expect("there is code");
    let full = stopped.changed(|settings| {
        settings.free_disk_space = "1000000TB".parse().expect("a size");
    });
    let kitbag = full.start().await;
    let authorization = kitbag.as_operator().headers()["authorization"].to_str().expect("ASCII").to_owned();

    for (path, media_type) in [("/toolkits", "application/wasm"), ("/documents/file?title=B", "text/plain")] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: {authorization}\r\nContent-Type: {media_type}\r\n\
             Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            kitbag.base_url().authority()
        );
        let answer = ask_raw(kitbag.base_url(), &request).await;
        assert!(answer.starts_with("HTTP/1.1 507 "), "{path}: {answer}");
    }
    let documents = json!({ "documents": [{ "title": "B", "text": "b" }] });
    let refused = kitbag.as_user("ana").call("probe__ingest", documents.clone()).await;
    assert!(refused.raw().contains("the toolkit cannot run at the moment"), "{}", refused.raw());
    assert_eq!(kitbag.files("code"), [""; 0]);
    assert!(kitbag.log().text().contains("cannot be loaded: the server's disk is nearly full"));

    let kitbag = kitbag.stop().await.changed(|settings| {
        settings.free_disk_space = "1".parse().expect("a size");
    });
    let kitbag = kitbag.start().await;
    kitbag.as_user("ana").call("probe__ingest", documents).await.text();
    assert_eq!(kitbag.files("code"), code);
}

#[tokio::test]
async fn what_was_accepted_waits_until_there_is_room() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(capturing).await;
    let url = files.put("/a", "text/plain", "a file");
    ana.ask(INGEST, json!({ "documents": [{ "title": "A", "fileUrl": url }] })).await;
    kitbag.settled(&url).await;
    let kitbag = kitbag.stop().await;
    for sql in [
        "UPDATE documents SET state = 'pending', artifact = NULL, artifact_size = NULL, captured = NULL",
        "INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at)
             SELECT sequence, holder, 'capture', 0, 0 FROM documents",
    ] {
        kitbag.alter(sql).await;
    }
    let fetched = files.hits("/a");

    let full = kitbag.changed(|settings| settings.free_disk_space = "1000000TB".parse().expect("a size"));
    let full = full.start().await;
    // Enough time for a capture, if the server tried one.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(files.hits("/a"), fetched, "nothing is fetched");

    let kitbag =
        full.stop().await.changed(|settings| settings.free_disk_space = "1".parse().expect("a size"));
    let kitbag = kitbag.start().await;
    assert_eq!(kitbag.settled(&url).await.text(), "a file");
    assert_eq!(files.hits("/a"), fetched + 1);
}
