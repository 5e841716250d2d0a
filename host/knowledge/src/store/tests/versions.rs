//! Earlier texts of documents.

use super::*;
use crate::document::Version;

const DAY: i64 = 24 * 60 * 60 * 1000;

async fn versions(store: &Store, id: &str) -> Vec<(u32, String, u64)> {
    let versions = store.versions(&[Holder::user("ana")], id).await.expect("they can be read");
    versions
        .into_iter()
        .map(|Version { number, title, characters, .. }| (number, title, characters))
        .collect()
}

async fn text_of(store: &Store, id: &str, number: u32) -> Option<String> {
    let part = store.version_part(&[Holder::user("ana")], id, number, 0, 1000).await;
    part.expect("it can be read").map(|(_, text)| text)
}

#[tokio::test]
async fn a_change_of_text_keeps_the_earlier_one_and_a_change_of_author_does_not() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let url = "https://a.example/";
    let first = store.put_one(&ana, page("A", url, "one")).await;
    store.put_one(&ana, page("A", url, "one")).await;
    let author = NewDocument { author: Some("Ann".to_owned()), ..page("A", url, "one") };
    store.put_one(&ana, author).await;
    assert_eq!(versions(&store, &first.id).await, []);

    let second = store.put_one(&ana, page("B", url, "two, longer")).await;

    assert_eq!(second.id, first.id);
    assert_eq!(versions(&store, &first.id).await, [(1, "A".to_owned(), 3)]);
    assert_eq!(text_of(&store, &first.id, 1).await.as_deref(), Some("one"));
    assert_eq!(text_of(&store, &first.id, 2).await, None);
    let of_others = store.versions(&[Holder::user("ben")], &first.id).await.expect("it can be asked");
    assert_eq!(of_others, []);
}

#[tokio::test]
async fn earlier_texts_count_in_the_quota_are_at_most_ten_and_go_with_the_document() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let put = async |text: &str| store.put_one(&ana, page("A", "https://a.example/", text)).await;
    let id = put("x").await.id;
    let before = store.usage(&Holder::user("ana")).await.expect("it can be read").bytes;

    put(&"y".repeat(1000)).await;
    put("x").await;

    let after = store.usage(&Holder::user("ana")).await.expect("it can be read").bytes;
    assert_eq!(after - before, (1 + 1) + (1 + 1000));
    for number in 0..12 {
        put(&format!("text {number}")).await;
    }
    let numbers: Vec<_> = versions(&store, &id).await.into_iter().map(|(number, ..)| number).collect();
    assert_eq!(numbers, (5..=14).rev().collect::<Vec<_>>());
    store.remove("ana", &id).await.expect("it was there");
    assert_eq!(store.usage(&Holder::user("ana")).await.expect("it can be read").bytes, 0);
    assert_eq!(store.count("document_versions").await, 0);
}

#[tokio::test]
async fn a_source_that_rewrites_a_document_leaves_one_version_a_day() {
    let (store, _data) = store().await;
    let clipper = origin("ana", "clipper");
    let put = async |text: &str| store.put_one(&clipper, page("A", "https://a.example/", text)).await;
    let yesterday = async || {
        let statement = sql("UPDATE documents SET updated_at = updated_at - $1").bind(DAY);
        store.0.write(statement).await;
    };
    let id = put("monday morning").await.id;
    put("monday noon").await;
    put("monday night").await;
    assert_eq!(versions(&store, &id).await, [], "all of one day");

    yesterday().await;
    put("tuesday morning").await;
    put("tuesday night").await;

    assert_eq!(text_of(&store, &id, 3).await.as_deref(), Some("monday night"));
    assert_eq!(versions(&store, &id).await.len(), 1);
}

#[tokio::test]
async fn an_earlier_text_comes_back_and_the_present_one_becomes_an_earlier_one() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let id = store.put_one(&ana, page("A", "https://a.example/", "one")).await.id;
    store.put_one(&ana, page("B", "https://a.example/", "two")).await;
    let holder = Holder::user("ana");

    assert!(store.restore_version(&holder, &id, 1, "ben").await.expect("it can be written"));

    let document = store
        .document(std::slice::from_ref(&holder), &id)
        .await
        .expect("it can be read")
        .expect("it is there");
    assert_eq!((document.text.as_str(), document.summary.title.as_str()), ("one", "A"));
    assert_eq!((document.summary.added_by.as_str(), document.summary.changed_by.as_str()), ("ana", "ben"));
    assert_eq!(document.summary.state, State::Pending);
    assert_eq!(text_of(&store, &id, 2).await.as_deref(), Some("two"));
    assert!(!store.restore_version(&holder, &id, 9, "ben").await.expect("it can be asked"));
    assert!(!store.restore_version(&Holder::user("ben"), &id, 1, "ben").await.expect("it can be asked"));
    // The source that has it differently changes it again.
    let again = store.put_one(&ana, page("B", "https://a.example/", "two")).await;
    assert_eq!(again.change, Change::Updated);
}
