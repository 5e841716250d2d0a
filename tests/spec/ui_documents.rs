//! Pages of a user's documents, and of connecting a client.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};

use crate::harness::{Answer, Kitbag, Visitor, eventually};

/// Submits the upload form with a file, as a browser does (multipart/form-data).
async fn upload(kitbag: &Kitbag, visitor: &Visitor, title: &str, name: &str, content: &str) -> Answer {
    let body = format!(
        "--X\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n{title}\r\n--X\r\nContent-Disposition: \
         form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--X--\r\n"
    );
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("multipart/form-data; boundary=X"));
    headers.insert(header::COOKIE, visitor.cookie().expect("a session").parse().expect("ASCII"));
    headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
    kitbag.anonymous().send(Method::POST, "/ui/documents/file", headers, Bytes::from(body)).await
}

#[tokio::test]
async fn a_text_is_added_found_shown_and_deleted() {
    let kitbag = Kitbag::start().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;

    let empty = ana.get("/ui/documents").await.assert_status(200);
    assert!(empty.text().contains("Nothing is in your knowledge base yet."), "{}", empty.text());
    let fields =
        [("title", "Apples <b>"), ("text", "The prices of apples\nare <i>rising</i>."), ("author", "Ben")];
    let added = ana.post("/ui/documents/new", &fields).await.assert_status(303);
    let path = added.header("location").expect("a page").to_owned();
    assert!(path.ends_with("?done=added"), "{path}");
    let page = ana.get(&path).await.assert_status(200);
    assert!(
        page.text().contains("Apples &#60;b&#62;") && page.text().contains("&#60;i&#62;rising"),
        "{}",
        page.text()
    );

    let search = "/ui/search?q=price+apple";
    eventually("search finds it", async || ana.get(search).await.text().contains("<mark>prices</mark>"))
        .await;
    let found = ana.get(search).await.assert_status(200);
    assert!(found.text().contains("<mark>apples</mark>"), "{}", found.text());
    assert!(found.text().contains("By words alone"), "{}", found.text());
    assert!(ana.get("/ui/search?q=price+-apple").await.text().contains("Nothing was found."));
    assert!(ana.get("/ui/search?q=-apple").await.assert_status(422).text().contains("has only filters"));
    assert!(ana.get("/ui/search?q=price&source=notes").await.text().contains("Nothing was found."));

    let document = path.split('?').next().expect("a path");
    let gone = ana.post(&format!("{document}/delete"), &[]).await.assert_status(303);
    assert_eq!(gone.header("location"), Some("/ui/documents?done=deleted"));
    ana.get(document).await.assert_status(404);
}

#[tokio::test]
async fn problems_stand_beside_their_fields_and_what_was_typed_stays() {
    let kitbag = Kitbag::start().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;

    let fields = [("title", " "), ("url", "ftp://x"), ("author", "Ana \"A\"")];
    let page = ana.post("/ui/documents/new", &fields).await.assert_status(422);

    let html = page.text();
    for problem in [
        "give it a title",
        "must be an absolute http or https URL",
        "write a text, or name a page or file below",
    ] {
        assert!(html.contains(problem), "{problem}: {html}");
    }
    assert!(html.contains("value=\"Ana &#34;A&#34;\""), "{html}");
    assert_eq!(html.matches("aria-invalid=\"true\"").count(), 3, "{html}");
    let long = "x".repeat(300 << 10);
    ana.post("/ui/documents/new", &[("title", "long"), ("text", &long)]).await.assert_status(413);
}

#[tokio::test]
async fn a_file_is_uploaded_without_scripts_and_downloaded_by_its_owner_alone() {
    let kitbag = Kitbag::start().await;
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);

    let added = upload(&kitbag, &ana, "", "notes.txt", "Pears are ripe.").await.assert_status(303);

    let path = added.header("location").expect("a page").split('?').next().expect("a path").to_owned();
    let page = ana.get(&path).await.assert_status(200);
    assert!(page.text().contains("<h1><bdi>notes</bdi></h1>"), "{}", page.text());
    let download = format!("{path}/file");
    eventually("the file is kept", async || ana.get(&download).await.status.is_success()).await;
    let file = ana.get(&download).await;
    assert_eq!(file.text(), "Pears are ripe.");
    assert!(file.header("content-disposition").is_some_and(|it| it.starts_with("attachment;")));
    for below in ["", "/file"] {
        ben.get(&format!("{path}{below}")).await.assert_status(404);
    }
    ben.post(&format!("{path}/delete"), &[]).await.assert_status(404);
    upload(&kitbag, &ana, "Title", "", "").await.assert_status(422);
}

#[tokio::test]
async fn the_page_for_clients_names_the_servers_address() {
    let kitbag = Kitbag::start().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;

    let page = ana.get("/ui/connect").await.assert_status(200);

    let url = kitbag.anonymous().url("/mcp");
    assert!(
        page.text().contains(&format!("claude mcp add --transport http --scope user kitbag {url}")),
        "{}",
        page.text()
    );
    assert!(page.text().contains("href=\"vscode:mcp/install?"), "{}", page.text());
}
