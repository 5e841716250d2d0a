//! Pages of collections, of the bin and of earlier texts.

use crate::harness::{Kitbag, Visitor, eventually};

/// Makes the collection `handbook` on Ana's pages, shares it with Ben, and adds a document. Returns its path.
async fn handbook(ana: &Visitor) -> String {
    let fields = [("id", "handbook"), ("name", "Handbook <b>"), ("description", "How we work")];
    let made = ana.post("/ui/collections", &fields).await.assert_status(303);
    assert_eq!(made.header("location"), Some("/ui/collections/handbook?done=made"));
    let share = [("kind", "user"), ("name", "ben"), ("role", "reader")];
    ana.post("/ui/collections/handbook/share", &share).await.assert_status(303);
    let document = [("title", "Holidays"), ("text", "A quokka has 30 days."), ("collection", "handbook")];
    let added = ana.post("/ui/documents/new", &document).await.assert_status(303);
    added.header("location").expect("a page").split('?').next().expect("a path").to_owned()
}

#[tokio::test]
async fn a_collection_is_made_shared_filled_and_searched_on_pages() {
    let kitbag = Kitbag::start().await;
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);
    let path = handbook(&ana).await;

    let found = "/ui/search?q=quokka";
    eventually("search finds it", async || ben.get(found).await.text().contains("Holidays")).await;
    let page = ben.get(found).await;
    assert!(page.text().contains("href=\"/ui/collections/handbook\""), "{}", page.text());
    assert!(ben.get("/ui/search?q=quokka&in=mine").await.text().contains("Nothing was found."));
    assert!(ben.get("/ui/search?q=quokka&in=handbook").await.text().contains("Holidays"));
    let list = ben.get("/ui/collections").await.assert_status(200);
    assert!(list.text().contains("Handbook &#60;b&#62;") && !list.text().contains("class=\"tag\">curator"));
    let page = ben.get("/ui/collections/handbook").await.assert_status(200);
    assert!(page.text().contains("How we work") && !page.text().contains("Share with"), "{}", page.text());
    let document = ben.get(&path).await.assert_status(200);
    assert!(document.text().contains("by <bdi>ana</bdi>"), "{}", document.text());
    assert!(!document.text().contains("Delete this document"), "{}", document.text());
    let documents = ben.get("/ui/documents?collection=handbook").await.assert_status(200);
    assert!(documents.text().contains("Holidays") && !documents.text().contains("Add a document"));

    // A reader changes nothing.
    ben.post(&format!("{path}/delete"), &[]).await.assert_status(403);
    let document = [("title", "X"), ("text", "x"), ("collection", "handbook")];
    let refused = ben.post("/ui/documents/new", &document).await.assert_status(403);
    assert!(refused.text().contains("Only curators of handbook"), "{}", refused.text());
    let share = [("kind", "everyone"), ("role", "reader")];
    let refused = ben.post("/ui/collections/handbook/share", &share).await.assert_status(422);
    assert!(refused.text().contains("Only curators of handbook"), "{}", refused.text());
    ben.post("/ui/collections/handbook/delete", &[]).await.assert_status(403);
    // The last curator stays.
    let herself = [("kind", "user"), ("name", "ana")];
    let refused = ana.post("/ui/collections/handbook/unshare", &herself).await.assert_status(422);
    assert!(refused.text().contains("last curator"), "{}", refused.text());
    for (id, problem) in [("handbook", "exists already"), ("A b", "a-z, 0-9"), ("mine", "choose another")] {
        let refused = ana.post("/ui/collections", &[("id", id), ("name", "N")]).await.assert_status(422);
        assert!(refused.text().contains(problem), "{id}: {}", refused.text());
    }
}

#[tokio::test]
async fn an_outsider_sees_of_a_collection_what_they_see_of_one_that_is_not_there() {
    let kitbag = Kitbag::start().await;
    let (ana, eve) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "eve").await);
    let path = handbook(&ana).await;
    ana.post(&format!("{path}/delete"), &[]).await.assert_status(303);
    let share = [("kind", "everyone"), ("role", "reader")];
    let into = [("title", "X"), ("text", "x")];

    for (form, page, fields) in [
        (false, "/ui/collections/ID", &[][..]),
        (false, "/ui/documents?collection=ID", &[]),
        (false, "/ui/bin?collection=ID", &[]),
        (false, "/ui/search?q=quokka&in=ID", &[]),
        (true, "/ui/collections/ID", &[("name", "N")]),
        (true, "/ui/collections/ID/share", &share),
        (true, "/ui/collections/ID/unshare", &share),
        (true, "/ui/collections/ID/delete", &[]),
        (true, "/ui/collections/ID/restore", &[]),
        (true, "/ui/collections/ID/purge", &[]),
        (true, "/ui/documents/new", &into),
        (true, "/ui/bin/restore", &[]),
        (true, "/ui/bin/purge", &[]),
    ] {
        let answer = async |id: &str| {
            let page = page.replace("ID", id);
            let collection = ("collection", id);
            let fields: Vec<_> = fields.iter().copied().chain([collection]).collect();
            let answer = if form { eve.post(&page, &fields).await } else { eve.get(&page).await };
            (answer.status, answer.text().replace(id, "ID"))
        };
        assert_eq!(answer("handbook").await, answer("nonesuch").await, "{page}");
    }
    assert!(!eve.get("/ui/collections").await.text().contains("/handbook"));
    assert!(!eve.get("/ui/documents/new").await.text().contains("handbook"));
}

#[tokio::test]
async fn a_document_moves_goes_to_the_bin_and_comes_back_and_so_does_a_collection() {
    let kitbag = Kitbag::start().await;
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);
    let path = handbook(&ana).await;
    let id = path.rsplit('/').next().expect("an id");
    let gone = ana.post(&format!("{path}/delete"), &[]).await.assert_status(303);
    assert_eq!(gone.header("location"), Some("/ui/documents?collection=handbook&done=deleted"));
    ben.get(&path).await.assert_status(404);
    let bin = ana.get("/ui/bin?collection=handbook").await.assert_status(200);
    assert!(bin.text().contains("Holidays") && bin.text().contains("by <bdi>ana</bdi>"), "{}", bin.text());
    ben.get("/ui/bin?collection=handbook").await.assert_status(403);

    let restore = [("collection", "handbook"), ("id", id)];
    ana.post("/ui/bin/restore", &restore).await.assert_status(303);
    ben.get(&path).await.assert_status(200);
    ana.post(&format!("{path}/move"), &[("to", "")]).await.assert_status(303);
    ben.get(&path).await.assert_status(404);
    ana.post(&format!("{path}/move"), &[("to", "handbook")]).await.assert_status(303);
    ben.get(&path).await.assert_status(200);

    ana.post("/ui/collections/handbook/delete", &[]).await.assert_status(303);
    ben.get(&path).await.assert_status(404);
    assert!(!ben.get("/ui/collections").await.text().contains("/handbook"));
    assert!(ana.get("/ui/collections").await.text().contains("In the bin"));
    ana.post("/ui/collections/handbook/restore", &[]).await.assert_status(303);
    ben.get(&path).await.assert_status(200);
    ana.post("/ui/collections/handbook/delete", &[]).await.assert_status(303);
    ana.post("/ui/collections/handbook/purge", &[]).await.assert_status(303);
    assert!(!ana.get("/ui/collections").await.text().contains("/handbook"));
}

#[tokio::test]
async fn an_earlier_text_is_shown_and_made_the_text_again() {
    let kitbag = Kitbag::start().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let put = async |text: &str| {
        let fields = [("title", "Plan"), ("text", text), ("url", "https://a.example/plan")];
        let added = ana.post("/ui/documents/new", &fields).await.assert_status(303);
        added.header("location").expect("a page").split('?').next().expect("a path").to_owned()
    };
    let path = put("first <i>").await;
    assert_eq!(put("second").await, path);

    let page = ana.get(&path).await.assert_status(200);
    assert!(page.text().contains("Earlier texts") && page.text().contains("second"), "{}", page.text());
    let version = ana.get(&format!("{path}/versions/1")).await.assert_status(200);
    assert!(version.text().contains("first &#60;i&#62;"), "{}", version.text());
    ana.get(&format!("{path}/versions/7")).await.assert_status(404);
    ana.post(&format!("{path}/versions/1/restore"), &[]).await.assert_status(303);
    let page = ana.get(&path).await.assert_status(200);
    assert!(
        page.text().contains("first &#60;i&#62;") && page.text().contains("Version 2"),
        "{}",
        page.text()
    );
}
