//! Documents that are deleted, had back, purged, and moved.

use super::*;
use crate::{Chosen, Conflict, Holder, Listing, Moved, NewFeed, Origin};

fn ids(ids: &[&String]) -> Chosen {
    Chosen::Ids(ids.iter().map(|id| (*id).clone()).collect())
}

async fn in_bin(library: &Library, holder: &Holder) -> Vec<String> {
    let listing = Listing { limit: 100, ..Listing::default() };
    let page = library.knowledge.documents(&holder.bin(), &listing).await.expect("it can be read");
    page.documents.into_iter().map(|(_, document)| document.title).collect()
}

#[tokio::test]
async fn what_was_deleted_is_found_again_as_soon_as_it_is_back_with_its_id() {
    let library = Library::with_model().await;
    let ana = Holder::user("ana");
    let [one, two] = library.add("ana", [note("Wings", "wing lift"), note("Heat", "wing heat")]).await;
    let before = library.found("ana", &query("wing")).await;

    assert_eq!(library.knowledge.delete(&ana, ids(&[&one]), "ana").await.expect("it can be deleted"), 1);
    assert_eq!(library.find("ana", "wing").await, ["Heat"]);
    assert!(library.knowledge.document(vec![ana.clone()], &one).await.is_err());
    assert_eq!(in_bin(&library, &ana).await, ["Wings"]);
    let usage = library.knowledge.usage(&ana).await.expect("it can be read").0;
    assert_eq!(usage.documents, 2, "it counts in the quota");
    let deleted = library.knowledge.summary(&[ana.bin()], &one).await.expect("it is in the bin").deleted;
    assert_eq!(deleted.map(|deletion| deletion.by).as_deref(), Some("ana"));

    let back = library.knowledge.restore(&ana, ids(&[&one, &two]), "ben").await.expect("it can be had back");
    assert_eq!(back, Moved { count: 1, conflicts: vec![] });
    let after = library.found("ana", &query("wing")).await;
    assert_eq!((titles(&after), &after.hits[0].score), (titles(&before), &before.hits[0].score));
    assert!(in_bin(&library, &ana).await.is_empty());
    assert_eq!(library.knowledge.summary(&[ana], &one).await.expect("it is back").deleted, None);
}

#[tokio::test]
async fn a_document_comes_again_while_the_same_is_in_the_bin() {
    let library = Library::without_model().await;
    let ana = Holder::user("ana");
    let [first] = library.add("ana", [note("Wings", "wing")]).await;
    library.remove("ana", &first).await;
    let [second] = library.add("ana", [note("Wings", "wing")]).await;
    assert_ne!(first, second, "what is in the bin is no duplicate");
    library.remove("ana", &second).await;
    assert_eq!(in_bin(&library, &ana).await, ["Wings", "Wings"]);

    let back = library.knowledge.restore(&ana, Chosen::All, "ana").await.expect("they can be had back");

    let stays = Conflict { id: second, title: "Wings".to_owned(), existing: None };
    assert_eq!(back, Moved { count: 1, conflicts: vec![stays.clone()] });
    let again = library.knowledge.restore(&ana, Chosen::All, "ana").await.expect("they can be had back");
    assert_eq!(again, Moved { count: 0, conflicts: vec![Conflict { existing: Some(first), ..stays }] });
}

#[tokio::test]
async fn a_feed_goes_to_the_bin_and_comes_back_as_one() {
    let library = Library::without_model().await;
    let ana = Holder::user("ana");
    let feed = NewFeed { key: "k".to_owned(), name: "Blog".to_owned(), label: None };
    let of_feed =
        |title: &str| NewDocument { feed: Some(feed.clone()), ..note(title, &format!("wing {title}")) };
    library.add("ana", [of_feed("A"), of_feed("B"), note("C", "wing")]).await;
    let chosen = || Chosen::Feed { source: "user".to_owned(), key: "k".to_owned() };
    let feeds = async || library.knowledge.feeds(&ana, 0, 10).await.expect("they can be read").len();

    assert_eq!(library.knowledge.delete(&ana, chosen(), "ana").await.expect("it can be deleted"), 2);
    assert_eq!((feeds().await, library.find("ana", "wing").await), (0, vec!["C".to_owned()]));
    assert_eq!(library.knowledge.restore(&ana, chosen(), "ana").await.expect("it can be had back").count, 2);
    assert_eq!((feeds().await, library.find("ana", "wing").await.len()), (1, 3));

    let source = || Chosen::Source("user".to_owned());
    assert_eq!(library.knowledge.delete(&ana, source(), "ana").await.expect("it can be deleted"), 3);
    assert_eq!(library.knowledge.purge(&ana.bin(), chosen(), "ana").await.expect("it can be purged"), 2);
    assert_eq!(in_bin(&library, &ana).await, ["C"]);
    assert_eq!(library.knowledge.usage(&ana).await.expect("it can be read").0.documents, 1);
}

#[tokio::test]
async fn bins_are_emptied_of_what_is_older_than_they_keep_it() {
    let library = Library::without_model().await;
    let ana = Holder::user("ana");
    let [old, new] = library.add("ana", [note("Old", "wing"), note("New", "heat")]).await;
    library.remove("ana", &old).await;
    library
        .execute("UPDATE documents SET deleted_at = deleted_at - 1000000 WHERE deleted_at IS NOT NULL")
        .await;
    library.remove("ana", &new).await;

    assert_eq!(library.knowledge.purge_bins(Duration::from_secs(500)).await.expect("they can be emptied"), 1);
    assert_eq!(in_bin(&library, &ana).await, ["New"]);
    assert_eq!(library.knowledge.purge_bins(Duration::from_secs(500)).await.expect("they can be emptied"), 0);
}

#[tokio::test]
async fn documents_move_into_a_collection_with_their_ids_and_who_added_them() {
    let library = Library::with_model().await;
    let ana = Holder::user("ana");
    let handbook = Holder::collection("handbook");
    let [one, two] = library.add("ana", [note("Wings", "wing lift"), note("Heat", "wing heat")]).await;
    let nowhere = library.knowledge.relocate(&ana, &handbook, Chosen::All, "ana").await;
    assert!(nowhere.is_err(), "there is no such collection");
    library.make(&handbook).await;
    let same = Origin { holder: handbook.clone(), user_id: "ben".to_owned(), source: "user".to_owned() };
    let there = library.knowledge.ingest(&same, vec![note("Heat", "wing heat")]).await.expect("it is right");
    library.settled_holder(&handbook).await;

    let moved = library.knowledge.relocate(&ana, &handbook, Chosen::All, "ana").await.expect("they can move");

    let existing = Some(there[0].id.clone());
    let conflict = Conflict { id: two.clone(), title: "Heat".to_owned(), existing };
    assert_eq!(moved, Moved { count: 1, conflicts: vec![conflict] });
    assert_eq!(library.find("ana", "wing").await, ["Heat"]);
    let found = library.knowledge.search("ben", vec![handbook.clone()], &query("lift")).await;
    assert_eq!(titles(&found.expect("a valid query")), ["Wings", "Heat"]);
    let summary =
        library.knowledge.summary(std::slice::from_ref(&handbook), &one).await.expect("it is there");
    assert_eq!((summary.added_by.as_str(), summary.holder), ("ana", handbook));
}

#[tokio::test]
async fn what_waited_for_its_job_when_it_was_deleted_is_found_after_it_is_back() {
    let library = Library::without_model().await;
    let ana = Holder::user("ana");
    let [id] = library.add("ana", [note("Wings", "wing")]).await;
    // As if its job had not run.
    library.execute("UPDATE documents SET state = 'pending'").await;
    library.execute("DELETE FROM chunks").await;
    library.execute("INSERT INTO knowledge_jobs SELECT sequence, holder, 'index', 0, 9223372036854775807, NULL FROM documents").await;
    library.remove("ana", &id).await;
    let jobs = library.database.column::<i64>("SELECT COUNT(*) FROM knowledge_jobs").await;
    assert_eq!(jobs, [0], "nothing is done for what is deleted");

    library.knowledge.restore(&ana, ids(&[&id]), "ana").await.expect("it can be had back");
    library.settled_holder(&ana).await;

    assert_eq!(library.find("ana", "wing").await, ["Wings"]);
}
