//! Collections: who may read them, and acts on them.

use futures::future::join_all;
use kitbag_database::Holder;
use kitbag_database::audit::Actor;
use kitbag_identity::Groups;
use tempfile::TempDir;

use super::*;

async fn collections() -> (Collections, Database, TempDir) {
    let data = tempfile::tempdir().expect("a scratch directory");
    let database = Database::of_test(data.path()).await;
    (Collections::open(database.clone()).await.expect("it opens"), database, data)
}

fn by(user: &str) -> Actor {
    Actor::user_only(user)
}

fn about(name: &str) -> Description {
    Description { name: name.to_owned(), description: String::new() }
}

fn user(id: &str) -> Subject {
    Subject::User(id.to_owned())
}

fn group(name: &str) -> Subject {
    Subject::Group(name.to_owned())
}

fn member(subject: Subject, role: Role) -> Membership {
    Membership { subject, role }
}

fn groups(names: &[&str]) -> Groups {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[tokio::test]
async fn members_read_and_others_do_not() {
    let (collections, ..) = collections().await;
    collections.create("handbook", &about("Handbook"), &by("ana")).await.expect("it is new");
    collections.create("legal", &about("Legal"), &by("ben")).await.expect("it is new");
    let with = [member(group("sales"), Role::Reader), member(user("eve"), Role::Curator)];
    collections.share("handbook", &with, &by("ana")).await.expect("it is there");
    collections
        .share("legal", &[member(Subject::Everyone, Role::Reader)], &by("ben"))
        .await
        .expect("it is there");
    let readable = |id: &str, names: &[&str]| collections.directory().readable(id, &groups(names));
    let [legal, handbook] = ["legal", "handbook"].map(Holder::collection);

    assert_eq!(readable("ana", &[]), [Holder::user("ana"), handbook.clone(), legal.clone()]);
    assert_eq!(readable("dan", &["sales"]), [Holder::user("dan"), handbook.clone(), legal.clone()]);
    assert_eq!(readable("dan", &["Sales", "user:eve"]), [Holder::user("dan"), legal.clone()]);
    // Names of users and of groups are independent.
    assert_eq!(readable("sales", &["eve"]), [Holder::user("sales"), legal.clone()]);
    let directory = collections.directory();
    let role =
        |id: &str, names: &[&str]| directory.of(id, &groups(names)).get("handbook").map(|(_, role)| *role);
    assert_eq!((role("ana", &[]), role("eve", &["sales"])), (Some(Role::Curator), Some(Role::Curator)));
    assert_eq!((role("dan", &["sales"]), role("dan", &[])), (Some(Role::Reader), None));

    collections.unshare("handbook", &group("sales"), &by("ana")).await.expect("it was shared");
    assert_eq!(readable("dan", &["sales"]), [Holder::user("dan"), legal.clone()]);
    collections.delete("handbook", &by("ana")).await.expect("it is there");
    assert_eq!(readable("ana", &[]), [Holder::user("ana"), legal]);
    assert_eq!(collections.directory().get("handbook").map(|it| it.deleted.is_some()), Some(true));
    collections.restore("handbook", &by("ana")).await.expect("it is in the bin");
    assert!(readable("ana", &[]).contains(&handbook));
}

#[tokio::test]
async fn the_last_curator_stays() {
    let (collections, ..) = collections().await;
    collections.create("handbook", &about("Handbook"), &by("ana")).await.expect("it is new");
    let is_last = |error| matches!(error, Err(CollectionError::LastCurator { .. }));

    assert!(is_last(collections.unshare("handbook", &user("ana"), &by("ana")).await));
    let reader = [member(user("ana"), Role::Reader)];
    assert!(is_last(collections.share("handbook", &reader, &by("ana")).await));
    collections
        .share("handbook", &[member(user("ben"), Role::Curator)], &by("ana"))
        .await
        .expect("it is there");

    // Two curators who remove each other: one act is refused.
    let ended = join_all(["ana", "ben"].map(|id| {
        let collections = collections.clone();
        async move { collections.unshare("handbook", &user(id), &by(id)).await }
    }));
    let ended = ended.await;
    assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 1, "{ended:?}");
    assert!(ended.into_iter().any(is_last));
    assert_eq!(collections.directory().get("handbook").expect("it is there").curators().count(), 1);
    collections.take_over("handbook", &by("op")).await.expect("it is there");
    assert_eq!(collections.directory().get("handbook").expect("it is there").curators().count(), 2);
}

#[tokio::test]
async fn what_is_no_collection_is_refused() {
    let (collections, ..) = collections().await;
    let ana = by("ana");
    for id in ["", "mine", "Handbook", "a b", "../a", "ä", "user:ana", &"a".repeat(65), "a\0"] {
        let refused = collections.create(id, &about("A"), &ana).await;
        assert!(matches!(refused, Err(CollectionError::Invalid(_))), "{id:?}");
    }
    for name in ["", "  ", "a\nb", "a\0b", &"n".repeat(1 << 20)] {
        let refused = collections.create("a", &about(name), &ana).await;
        assert!(matches!(refused, Err(CollectionError::Invalid(_))), "{} bytes", name.len());
    }
    collections.create("a", &about("A"), &ana).await.expect("it is new");
    let again = collections.create("a", &about("A"), &by("ben")).await;
    assert!(matches!(again, Err(CollectionError::Exists(_))));

    let many = |count| (0..count).map(|n| member(user(&n.to_string()), Role::Reader)).collect::<Vec<_>>();
    for count in [MAX_GRANTS, 10_000] {
        let refused = collections.share("a", &many(count), &ana).await;
        assert!(matches!(refused, Err(CollectionError::TooManyGrants)), "{count} and the curator");
    }
    collections.share("a", &many(MAX_GRANTS - 1), &ana).await.expect("it is as many as may be");
    for id in ["b", "handbook"] {
        let unknown = |result| matches!(result, Err(CollectionError::Unknown(_)));
        assert!(unknown(collections.share(id, &[member(Subject::Everyone, Role::Reader)], &ana).await));
        assert!(unknown(collections.unshare(id, &Subject::Everyone, &ana).await));
        assert!(unknown(collections.describe(id, &about("B"), &ana).await));
        assert!(unknown(collections.delete(id, &ana).await) && unknown(collections.restore(id, &ana).await));
        assert!(
            unknown(collections.begin_purge(id, &ana).await)
                && unknown(collections.take_over(id, &ana).await)
        );
    }
    let refused = collections.unshare("a", &group("x"), &ana).await;
    assert!(matches!(refused, Err(CollectionError::NotShared { .. })));
    assert!(
        matches!(collections.begin_purge("a", &ana).await, Err(CollectionError::Unknown(_))),
        "not in the bin"
    );
}

#[tokio::test]
async fn a_user_makes_twenty() {
    let (collections, ..) = collections().await;
    for number in 0..MAX_CREATED {
        collections.create(&format!("c{number}"), &about("C"), &by("ana")).await.expect("it is new");
    }

    assert!(matches!(
        collections.create("more", &about("C"), &by("ana")).await,
        Err(CollectionError::TooMany)
    ));
    collections.create("more", &about("C"), &by("ben")).await.expect("it is another user");
    // What is in the bin counts until it is purged.
    collections.delete("c0", &by("ana")).await.expect("it is there");
    assert!(matches!(
        collections.create("c0", &about("C"), &by("ana")).await,
        Err(CollectionError::Exists(_) | CollectionError::TooMany)
    ));
    collections.begin_purge("c0", &by("ana")).await.expect("it is in the bin");
    let restored = collections.restore("c0", &by("ana")).await;
    assert!(matches!(restored, Err(CollectionError::Unknown(_))), "it is being purged");
    assert!(collections.end_purge("c0", &by("ana")).await.expect("it has no documents"));
    collections.create("c0", &about("C"), &by("ana")).await.expect("there is room");
}

#[tokio::test]
async fn another_process_sees_a_change_by_its_generation() {
    let (first, database, _data) = collections().await;
    let second = Collections::open(database.clone()).await.expect("it opens");
    first.create("handbook", &about("Handbook"), &by("ana")).await.expect("it is new");
    assert!(second.directory().get("handbook").is_none());
    let generation = database.column::<i64>("SELECT collections FROM registry").await[0];

    second.catch_up(generation).await.expect("it can be read");

    assert!(second.directory().get("handbook").is_some());
}

#[test]
fn finding_out_what_a_caller_may_read_takes_no_time() {
    let collection = |number: u32| Collection {
        id: format!("c{number}"),
        name: "C".to_owned(),
        description: String::new(),
        created_by: "op".to_owned(),
        created_at: 0,
        deleted: None,
        members: (0..10).map(|n| member(user(&format!("u{}", number * 10 + n)), Role::Reader)).collect(),
    };
    let directory = Directory::new(1, (0..1000).map(collection));

    let readable = directory.readable("u77", &groups(&["a", "b", "c"]));

    assert_eq!(readable, [Holder::user("u77"), Holder::collection("c7")]);
}
