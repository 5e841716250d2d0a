//! Reading of documents and feeds, isolated between users.

use super::*;

#[tokio::test]
async fn a_feed_is_renamed_everywhere_and_goes_with_its_last_document() {
    let (store, _data) = store().await;
    let ana = origin("ana", "clipper");
    let named = async || {
        let mut named = Vec::new();
        for feed in store.feeds(&Holder::user("ana"), 0, 100).await.expect("they can be read") {
            let size = store
                .feed_size(&Holder::user("ana"), &feed.source, &feed.key)
                .await
                .expect("it can be counted");
            named.push((feed.name, feed.label, size));
        }
        named
    };

    let first = store.put_one(&ana, in_feed("k", "Old", Some("site"), note("A", "a"))).await;
    let second = store.put_one(&ana, in_feed("k", "New", None, note("B", "b"))).await;
    assert_eq!(named().await, [("New".to_owned(), Some("site".to_owned()), 2)]);
    let again = store.put_one(&ana, in_feed("k", "New", Some("blog"), note("B", "b"))).await;
    assert_eq!(named().await, [("New".to_owned(), Some("blog".to_owned()), 2)]);

    let document = store
        .document(&[Holder::user("ana")], &first.id)
        .await
        .expect("it can be read")
        .expect("it is there");
    assert_eq!(document.summary.feed.map(|feed| feed.name).as_deref(), Some("New"));
    assert_eq!((again.id.as_str(), again.change), (second.id.as_str(), Change::Unchanged));
    store.remove("ana", &first.id).await.expect("it was there");
    assert_eq!(named().await, [("New".to_owned(), Some("blog".to_owned()), 1)]);
    store.remove("ana", &second.id).await.expect("it was there");
    assert_eq!(named().await, []);
}

#[tokio::test]
async fn documents_are_listed_newest_first_page_by_page_under_all_conditions() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    // Documents of other users in between: neither cursors nor numbers reveal them.
    for number in 0..5 {
        store.put_one(&ana, note(&format!("N{number}"), &format!("n{number}"))).await;
        store.put_one(&origin("ben", "user"), note(&format!("B{number}"), &format!("b{number}"))).await;
    }
    store.put_one(&origin("ana", "clipper"), in_feed("k", "K", None, note("F", "f"))).await;
    let of = |change: fn(&mut Listing)| {
        let mut listing = Listing { limit: 100, ..Listing::default() };
        change(&mut listing);
        listing
    };

    let first = store.documents(&Holder::user("ana"), &of(|it| it.limit = 4)).await.expect("it can be read");
    let cursors: Vec<_> = first.documents.iter().map(|(cursor, _)| *cursor).collect();
    let rest = store.titles("ana", Listing { after: cursors.last().copied(), ..of(|_| {}) }).await;

    assert_eq!((first.has_more, first.total, cursors), (true, 6, vec![6, 5, 4, 3]));
    assert_eq!(rest, ["N1", "N0"]);
    assert_eq!(store.titles("ana", of(|it| it.source = Some("clipper".into()))).await, ["F"]);
    assert_eq!(store.titles("ana", of(|it| it.feed = Some("k".into()))).await, ["F"]);
    assert_eq!(store.titles("ben", of(|it| it.feed = Some("k".into()))).await, [""; 0]);
    assert_eq!(store.titles("ana", of(|it| it.state = Some(StateName::Ready))).await, [""; 0]);
    assert_eq!(store.titles("ana", of(|it| it.state = Some(StateName::Pending))).await.len(), 6);
    assert_eq!(store.titles("ana", of(|it| it.limit = 0)).await, [""; 0]);
}

#[tokio::test]
async fn a_summary_is_read_without_the_text_and_documents_are_counted_by_state() {
    let (store, _data) = store().await;
    let ana = origin("ana", "user");
    let id = store.put_one(&ana, note("A", "a")).await.id;
    store.put_one(&ana, note("B", "b")).await;
    // Reading the text would fail. A database server refuses invalid text, so it cannot be tested there.
    let unreadable = if store.0.is_file() { "CAST(x'ff' AS TEXT)" } else { "text" };
    let update = format!("UPDATE documents SET text = {unreadable}, state = 'ready' WHERE id = '{id}'");
    store.0.execute(&update).await;

    assert_eq!(
        store.document(&[Holder::user("ana")], &id).await.is_err(),
        store.0.is_file(),
        "the text is none"
    );
    let summary =
        store.summary(&[Holder::user("ana")], &id).await.expect("it can be read").expect("it is there");
    let counts = store.counts(&Holder::user("ana")).await.expect("they can be counted");

    assert_eq!((summary.title.as_str(), summary.state), ("A", State::Ready));
    assert_eq!(counts, Counts { pending: 1, ready: 1, failed: 0 });
}

#[tokio::test]
async fn feeds_come_in_pages_by_source_and_name() {
    let (store, _data) = store().await;
    for name in ["C", "A", "B"] {
        let document = in_feed(&name.to_lowercase(), name, None, note(name, name));
        store.put_one(&origin("ana", "user"), document).await;
    }
    let page = async |offset, limit| {
        let feeds = store.feeds(&Holder::user("ana"), offset, limit).await.expect("they can be read");
        feeds.into_iter().map(|feed| feed.name).collect::<Vec<_>>()
    };

    assert_eq!(page(0, 2).await, ["A", "B"]);
    assert_eq!(page(2, 2).await, ["C"]);
    assert_eq!(page(u32::MAX, u32::MAX).await, [""; 0]);
}

#[tokio::test]
async fn nothing_of_another_user_can_be_read_or_removed() {
    let (store, _data) = store().await;
    let id = store.put_one(&origin("ana", "user"), in_feed("k", "K", None, note("A", "a"))).await.id;
    let sequence: i64 = store.0.column("SELECT sequence FROM documents").await.remove(0);

    assert_eq!(store.document(&[Holder::user("ben")], &id).await.expect("it can be asked"), None);
    assert_eq!(store.artifact(&[Holder::user("ben")], &id).await.expect("it can be asked"), None);
    assert_eq!(store.remove("ben", &id).await, None);
    assert_eq!(store.summary(&[Holder::user("ben")], &id).await.expect("it can be asked"), None);
    assert_eq!(store.counts(&Holder::user("ben")).await.expect("it can be asked"), Counts::default());
    assert_eq!(store.feeds(&Holder::user("ben"), 0, 100).await.expect("it can be asked"), []);
    assert_eq!(store.feed_size(&Holder::user("ben"), "user", "k").await.expect("it can be asked"), 0);
    assert_eq!(store.all("ben").await, Page::default());
    assert!(store.summaries(&[Holder::user("ben")], &[sequence]).await.expect("it can be asked").is_empty());

    assert_eq!(store.all("ana").await.total, 1);
    assert_eq!(store.summaries(&[Holder::user("ana")], &[sequence]).await.expect("it can be asked").len(), 1);
}

#[tokio::test]
async fn an_id_of_another_user_is_not_even_found_in_the_index() {
    let (store, _data) = store().await;
    if !store.0.is_file() {
        // The query plan depends on the number of rows.
        return;
    }
    let sql = "EXPLAIN QUERY PLAN SELECT * FROM documents d WHERE d.holder = 'user:ana' AND d.id = 'x'";
    let plan: Vec<(i64, i64, i64, String)> = store.0.rows(sql).await;

    assert_eq!(plan[0].3, "SEARCH d USING INDEX documents_by_id (holder=? AND id=?)");
}
