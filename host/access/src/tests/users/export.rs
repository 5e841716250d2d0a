//! Exports.

use super::*;

#[tokio::test]
async fn an_export_has_everything_but_values_of_secrets() {
    let fixture = service().await;
    let una = fixture.user("una");
    let own = una.documents().of(None).expect("her own");
    let page = |text: &str| NewDocument {
        url: Some("https://example.com/tides".to_owned()),
        title: "Tides".to_owned(),
        text: Some(text.to_owned()),
        feed: Some(NewFeed { key: "sea".to_owned(), name: "The sea".to_owned(), label: None }),
        ..NewDocument::default()
    };
    let id = own.ingest(vec![page("ebb")]).await.expect("stored").remove(0).id;
    own.ingest(vec![page("flood")]).await.expect("stored");
    let file = stream::iter([Ok(bytes::Bytes::from_static(b"a file of wings"))]).boxed();
    let titled = NewDocument { title: "Wings".to_owned(), ..NewDocument::default() };
    let with_file = own.ingest_file(titled, Some("wings.txt"), file, None).await.expect("stored").id;

    let found = entries(una.export().await.expect("she may")).await;

    let contents: Value = serde_json::from_str(&found["contents.json"]).expect("JSON");
    for (name, count) in [
        ("documents", 4),
        ("deletedDocuments", 1),
        ("earlierTexts", 1),
        ("files", 1),
        ("feeds", 1),
        ("settings", 1),
        ("calls", 1),
    ] {
        assert_eq!(contents[name], count, "{name}: {contents}");
    }
    let document: Value =
        serde_json::from_str(&found[&format!("documents/{id}/document.json")]).expect("JSON");
    assert_eq!((&document["url"], &document["feed"]), (&json!("https://example.com/tides"), &json!("sea")));
    assert_eq!(found[&format!("documents/{id}/text.txt")], "flood");
    assert!(found[&format!("documents/{id}/versions/1.json")].contains("\"ebb\""));
    assert_eq!(found[&format!("documents/{with_file}/file.txt")], "a file of wings");
    assert!(found.keys().any(|name| name.starts_with("bin/") && found[name].contains("wing of Gone")));
    let user: Value = serde_json::from_str(&found["user.json"]).expect("JSON");
    assert_eq!((&user["keys"][0]["name"], &user["secrets"][0]["name"]), (&json!("nightly"), &json!("KEY")));
    assert_eq!(
        (&user["accounts"][0]["toolkit"], &user["collections"][1]["id"]),
        (&json!("books"), &json!("plans"))
    );
    assert!(found["settings.jsonl"].contains("metric"));
    assert!(found["calls/books/000001.jsonl"].contains("\"find\""));
    let whole = found.values().cloned().collect::<String>();
    for hidden in ["a-secret-value", "sealed", "wing of Ours"] {
        assert!(!whole.contains(hidden), "{hidden}");
    }
    let other = fixture.user("eve").export().await.expect("she may");
    let other = entries(other).await;
    assert_eq!(other.keys().map(String::as_str).collect::<Vec<_>>(), ["contents.json", "user.json"]);
}

#[tokio::test]
async fn an_operator_exports_whom_they_have_ended_loudly_and_nobody_reads_two_at_a_time() {
    let fixture = service().await;
    let (ana, ben) = (fixture.user("ana"), fixture.user("ben"));
    let operator = ana.operator().expect("she is one");
    let present = operator.users().export("una").await;
    assert!(matches!(present, Err(AccessError::ExportOfOther(_))), "she can do it herself");

    let done = operator.users().end_access("una").await.expect("she may");
    assert!(done.is_finished && done.keys == 1 && done.documents == 0, "{done:?}");
    let first = operator.users().export("una").await.expect("she may now");
    let second = operator.users().export("una").await;
    let by_ben = ben.operator().expect("he is one").users().export("una").await.expect("he may, too");

    assert!(matches!(second, Err(AccessError::TooManyExports)), "one at a time");
    let found = entries(first).await;
    assert!(found["user.json"].contains("\"KEY\""), "what she had is still there");
    drop(by_ben);
    let mut patience = 0;
    while let Err(error) = operator.users().export("una").await {
        assert!(matches!(error, AccessError::TooManyExports) && patience < 100, "{error}");
        patience += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let acts = "SELECT actor || ' ' || outcome || ' ' || COALESCE(affected, '') FROM audit
        WHERE act = 'user.exported' OR name = 'user.exported' ORDER BY id";
    let acts = fixture.database.column::<String>(acts).await;
    assert_eq!(acts, ["ana refused ", "ana done una", "ben done una", "ana done una"]);
    end(&ana, "una", DocumentsFate::Erased).await.expect("she may");
    let gone = operator.users().export("una").await.expect("she is known as ended");
    assert!(entries(gone).await.keys().all(|name| !name.contains('/')), "nothing is left");
}

#[tokio::test]
async fn an_export_that_nobody_reads_gives_up_its_place_in_the_end() {
    let fixture = Fixture::with(&[]).await;
    let mut held = Vec::new();
    for nth in 0..crate::MAX_EXPORTS {
        held.push(fixture.user(&format!("user {nth}")).export().await.expect("there is room"));
    }
    let una = fixture.user("una");
    assert!(matches!(una.export().await, Err(AccessError::TooManyExportsOfAll)));
    let own = fixture.user("user 0").export().await;
    assert!(matches!(own, Err(AccessError::TooManyExports)), "{:?}", own.err());

    let mut patience = 0;
    while let Err(error) = una.export().await {
        assert!(matches!(error, AccessError::TooManyExportsOfAll) && patience < 1000, "{error}");
        patience += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let broken: Vec<_> = held.remove(0).archive.collect().await;
    assert!(broken.last().is_some_and(Result::is_err), "whoever reads it sees that it broke off");
}
