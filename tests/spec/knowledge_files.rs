//! Document files over HTTP: uploads, and downloads by their owner.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Kitbag, User};

const CSV: &str = "name,kind\nOrca,whale\n";

async fn upload(user: &User, query: &str, file: impl Into<bytes::Bytes>) -> Answer {
    let path = format!("/documents/file?{query}");
    user.send(Method::POST, &path, "application/octet-stream", file).await
}

async fn document(user: &User, id: &Value) -> Value {
    let query = "query ($id: ID!) { document(id: $id) {
        title url author source feed { key name } state text artifact { mediaType size url }
    } }";
    user.ask(query, json!({ "id": id })).await["document"].clone()
}

#[tokio::test]
async fn a_file_goes_in_is_read_is_found_and_comes_out_as_it_was() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let about = "title=My%20%C3%9Cbersicht&url=https://a.example/t&author=Ana&feedKey=k&feedName=K";

    let stored = upload(&ana, about, CSV).await.assert_status(201).json();
    ana.settled().await;

    assert_eq!(stored["change"], "CREATED");
    let shown = document(&ana, &stored["id"]).await;
    for (field, value) in [
        ("title", json!("My Übersicht")),
        ("url", json!("https://a.example/t")),
        ("author", json!("Ana")),
        ("source", json!("user")),
        ("feed", json!({ "key": "k", "name": "K" })),
        ("state", json!("READY")),
    ] {
        assert_eq!(shown[field], value, "{field}: {shown}");
    }
    assert!(shown["text"].as_str().is_some_and(|text| text.contains("Orca")), "{shown}");
    let found = ana.ask("{ search(query: \"orca\") { results { document { id } } } }", json!({})).await;
    assert_eq!(found["search"]["results"][0]["document"]["id"], stored["id"]);

    let url = shown["artifact"]["url"].as_str().expect("a URL");
    let path = url.strip_prefix(kitbag.base_url().as_str()).expect("it is this server's");
    let file = ana.get(&format!("/{path}")).await.assert_status(200);
    assert_eq!(&file.body[..], CSV.as_bytes());
    assert_eq!(shown["artifact"]["size"].as_f64(), Some(21.0));
    for (name, value) in [
        ("content-type", shown["artifact"]["mediaType"].as_str().expect("a type")),
        ("content-length", "21"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox"),
    ] {
        assert_eq!(file.header(name), Some(value), "{name}");
    }
    let disposition = file.header("content-disposition").expect("it is to be saved");
    assert!(disposition.starts_with("attachment; filename=\"My__bersicht"), "{disposition}");
    assert!(disposition.contains("filename*=UTF-8''My%20%C3%9Cbersicht"), "{disposition}");
}

#[tokio::test]
async fn the_same_file_is_the_same_document_and_that_of_another_user_is_another() {
    let kitbag = Kitbag::start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));

    let first = upload(&ana, "title=A", CSV).await.assert_status(201).json();
    ana.settled().await;
    let again = upload(&ana, "title=A", CSV).await.assert_status(200).json();
    let of_ben = upload(&ben, "title=A", CSV).await.assert_status(201).json();

    assert_eq!((&again["id"], &again["change"]), (&first["id"], &json!("UNCHANGED")));
    assert_ne!(of_ben["id"], first["id"]);
    let path = |stored: &Value| format!("/documents/{}/artifact", stored["id"].as_str().expect("an id"));
    ben.get(&path(&of_ben)).await.assert_status(200);
    let (hidden, absent) = (ben.get(&path(&first)).await, ben.get("/documents/absent/artifact").await);
    assert_eq!((hidden.status, hidden.body), (absent.status, absent.body));
    let delete = "mutation ($id: ID!) { deleteDocument(id: $id) }";
    ben.ask(delete, json!({ "id": of_ben["id"] })).await;
    ana.get(&path(&first)).await.assert_status(200);
    ana.ask(delete, json!({ "id": first["id"] })).await;
    ana.get(&path(&first)).await.assert_problem(404, "no such document");
}

#[tokio::test]
async fn a_document_without_a_file_has_nothing_to_download() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let ids = ana.ingest(json!([{ "title": "A", "text": "only text" }])).await;

    ana.get(&format!("/documents/{}/artifact", ids[0])).await.assert_problem(404, "no such document");
}

#[tokio::test]
async fn an_upload_that_breaks_a_rule_is_refused_and_leaves_nothing() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.capture_size = "64KiB".parse().expect("a size");
    })
    .await;
    let ana = kitbag.as_user("ana");

    upload(&ana, "title=%20", CSV).await.assert_problem(422, "nothing is changed");
    upload(&ana, "title=A&url=nowhere", CSV).await.assert_problem(422, "nothing is changed");
    upload(&ana, "title=A", "").await.assert_problem(422, "nothing is changed");
    let large = upload(&ana, "title=A", vec![b'x'; 128 << 10]).await;
    large.assert_problem(422, "nothing is changed");
    upload(&ana, "titel=A", CSV).await.assert_problem(400, "titel");
    upload(&ana, "", CSV).await.assert_problem(400, "title");

    let left = ana.ask("{ documents { totalCount } }", json!({})).await;
    assert_eq!(left["documents"]["totalCount"], 0);
}
