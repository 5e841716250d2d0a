//! Quotas per user: every interface refuses documents beyond them, and other users are not affected.

use http::{Method, StatusCode};
use kitbag::settings::Settings;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::capture::capturing;
use crate::fetch::probe;
use crate::harness::{Answer, Files, Kitbag, User, eventually};

const INGEST: &str = "mutation ($documents: [IngestDocumentInput!]!) {
    ingest(documents: $documents) { documents { id } }
}";

/// Bytes of a document besides title and text if it is identified by the SHA-256 of its text: `sha256 …`.
const SHA256_IDENTITY: usize = 7 + 64;

/// Limits each user to four documents with 2 KiB in total.
fn small_quota(settings: &mut Settings) {
    capturing(settings);
    settings.documents_per_user = 4;
    settings.documents_size_per_user = "2KiB".parse().expect("a size");
}

async fn upload(user: &User, title: &str, file: Vec<u8>) -> Answer {
    let path = format!("/documents/file?title={title}");
    user.send(Method::POST, &path, "application/octet-stream", file).await
}

async fn usage(user: &User) -> Value {
    let query = "{ me { usage { documents documentsQuota bytes bytesQuota } } }";
    user.ask(query, json!({})).await["me"]["usage"].clone()
}

fn note(title: &str, bytes: usize) -> Value {
    json!({ "title": title, "text": title.repeat(bytes) })
}

async fn empty_bin(user: &User) {
    user.ask("mutation { purgeDocuments(chosen: { all: true }) }", json!({})).await;
}

async fn delete(user: &User, id: &str) {
    user.ask("mutation ($id: ID!) { deleteDocument(id: $id) }", json!({ "id": id })).await;
}

#[tokio::test]
async fn beyond_the_quota_every_way_in_says_so_and_a_deletion_makes_room() {
    let files = Files::start().await;
    let (kitbag, ana) = probe(small_quota).await;
    let ben = kitbag.as_user("ben");
    let first = ana.ingest(json!([note("a", 1800)])).await;
    let used = 1 + 1800 + SHA256_IDENTITY;
    let large = json!({ "documents": [note("b", 200)] });

    ana.ask_for_error(INGEST, large.clone()).await.assert("LIMIT", "1.8 KiB of the 2.0 KiB");
    let refused = upload(&ana, "b", vec![b'b'; 200]).await.assert_problem(413, "1.8 KiB of the 2.0 KiB");
    assert!(refused.json()["detail"].as_str().is_some_and(|detail| detail.contains("Delete some")));
    ana.call("probe__ingest", large.clone()).await.assert_tool_error("1.8 KiB of the 2.0 KiB");
    let url = files.put("/b", "text/plain", vec![b'b'; 200]);
    ana.ask(INGEST, json!({ "documents": [{ "title": "b", "fileUrl": url }] })).await;
    let captured = kitbag.settled(&url).await;

    captured.assert_failed("Delete some");
    assert_eq!((captured.artifact, captured.artifact_size), (None, None));
    assert_eq!(kitbag.files("artifacts"), [""; 0], "what was refused is not kept");
    let used = u32::try_from(used + 1 + url.len() + "file ".len() + url.len()).expect("it is small");
    assert_eq!(
        usage(&ana).await,
        json!({ "documents": 2, "documentsQuota": 4, "bytes": f64::from(used), "bytesQuota": 2048.0 })
    );
    for user in [&ben, &kitbag.as_user("eve")] {
        assert_eq!(user.ingest(json!([note("b", 1800)])).await.len(), 1, "others have room of their own");
    }

    delete(&ana, &first[0]).await;
    let refused = upload(&ana, "b", vec![b'b'; 200]).await.assert_problem(413, "of the 2.0 KiB");
    assert!(refused.json()["detail"].as_str().is_some_and(|detail| detail.contains("empty the bin")));
    empty_bin(&ana).await;
    upload(&ana, "b", vec![b'b'; 200]).await.assert_status(201);
    ana.ask(INGEST, json!({ "documents": [{ "title": "b", "fileUrl": url }] })).await;
    assert_eq!(kitbag.settled(&url).await.text(), "b".repeat(200));
}

#[tokio::test]
async fn so_many_documents_and_no_more() {
    let (_kitbag, ana) = probe(small_quota).await;
    let notes = |range: std::ops::Range<u32>| -> Value {
        range.map(|number| json!({ "title": "n", "text": number.to_string() })).collect()
    };

    let first = ana.ingest(notes(0..3)).await;
    let refused = ana.ask_for_error(INGEST, json!({ "documents": notes(3..5) })).await;
    refused.assert("LIMIT", "3 of the 4 documents").assert("LIMIT", "2 more");
    ana.ingest(notes(3..4)).await;
    // Documents that are already stored do not count again.
    assert_eq!(ana.ingest(notes(0..4)).await.len(), 4);
    ana.call("probe__ingest", json!({ "documents": notes(4..5) })).await.assert_tool_error("4 of the 4");
    upload(&ana, "n", b"file".to_vec()).await.assert_problem(413, "4 of the 4");

    delete(&ana, &first[0]).await;
    ana.ask_for_error(INGEST, json!({ "documents": notes(4..5) })).await.assert("LIMIT", "empty the bin");
    empty_bin(&ana).await;
    ana.ingest(notes(4..5)).await;
    assert_eq!(usage(&ana).await["documents"], 4);
}

#[tokio::test]
async fn many_at_the_same_time_do_not_exceed_it_together() {
    let (kitbag, ana) = probe(small_quota).await;

    let tries: Vec<_> = (0..24)
        .map(|number| {
            let user = kitbag.as_user("ana");
            tokio::spawn(async move {
                let text = format!("{number:0>500}");
                match number % 3 {
                    0 => drop(upload(&user, "n", text.into_bytes()).await),
                    1 => {
                        let documents = json!({ "documents": [{ "title": "n", "text": text }] });
                        drop(
                            user.send(
                                Method::POST,
                                "/graphql",
                                "application/json",
                                json!({ "query": INGEST, "variables": documents }).to_string(),
                            )
                            .await,
                        );
                    }
                    _ => drop(
                        user.call("probe__ingest", json!({ "documents": [{ "title": "n", "text": text }] }))
                            .await,
                    ),
                }
            })
        })
        .collect();
    for one in tries {
        one.await.expect("no panic");
    }

    ana.settled().await;
    let usage = usage(&ana).await;
    // The text of a file counts in addition to the file, so fewer than four documents may fit.
    assert!(usage["documents"].as_u64().is_some_and(|count| (1..=3).contains(&count)), "{usage}");
    assert!(usage["bytes"].as_f64().is_some_and(|bytes| bytes <= 2048.0), "{usage}");
}

#[tokio::test]
async fn so_many_uploads_a_minute_and_files_on_their_way_at_once() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.uploads_per_minute = 6.try_into().expect("not zero");
    })
    .await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));

    let mut unfinished = Vec::new();
    for _ in 0..4 {
        unfinished.push(begin_upload(&kitbag, &ana).await);
    }
    eventually("the files are on their way", async || kitbag.files("captures").len() == 4).await;
    let fifth = upload(&ana, "n", b"n".to_vec()).await.assert_problem(429, "on their way already");
    assert!(fifth.header("retry-after").is_some());
    drop(unfinished);
    eventually("they are given up", async || kitbag.files("captures").is_empty()).await;

    // Six uploads a minute are one in ten seconds: even a busy machine uploads faster.
    let refused = loop {
        let answer = upload(&ana, "n", b"n".to_vec()).await;
        if answer.status != StatusCode::CREATED && answer.status != StatusCode::OK {
            break answer.assert_problem(429, "within a minute");
        }
    };
    let seconds: u64 = refused.header("retry-after").expect("it says when").parse().expect("a number");
    assert!((1..=60).contains(&seconds), "{seconds}");
    let question = json!({
        "query": INGEST,
        "variables": { "documents": [{ "title": "n", "text": "n" }] },
    });
    let refused = loop {
        let question = question.to_string();
        let answer = ana.send(Method::POST, "/graphql", "application/json", question).await.json();
        if answer["errors"].is_array() {
            break answer;
        }
    };
    assert_eq!(refused["errors"][0]["extensions"]["code"], "LIMIT", "{refused}");
    upload(&ben, "n", b"n".to_vec()).await.assert_status(201);
}

/// Sends the head of an upload and the first part of its file.
async fn begin_upload(kitbag: &Kitbag, user: &User) -> TcpStream {
    let mut stream = TcpStream::connect(kitbag.address()).await.expect("the server listens");
    let head = format!(
        "POST /documents/file?title=n HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Length: 1000\r\n\r\nbeginning",
        kitbag.address(),
        user.token(),
    );
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    stream
}
