use super::*;
use crate::store::tests::store;

async fn keeper(store: Store, data: &Path, disk: Disk) -> Keeper {
    let settings = SearchFiles { data: data.to_owned(), min_chunks: 3, interval: Duration::from_mins(10) };
    let opened = Keeper::open(store, None, settings, 1 << 20, disk).await;
    opened.expect("the database works").expect("the folder can be made")
}

#[tokio::test]
async fn nothing_is_written_while_the_disk_is_nearly_full() {
    let (store, data) = store().await;
    let index = UserIndex::default();
    let size = file::max_bytes(&index);
    let keeper_with = |room| keeper(store.clone(), data.path(), Disk::with_room(room));
    let file = data.path().join("search").join(Files::name_of(&Holder::user("ana")));

    assert!(
        !keeper_with(size - 1).await.put(&Holder::user("ana"), 0, Revision::default(), index.clone()).await
    );
    assert!(!file.exists());
    assert!(keeper_with(size).await.put(&Holder::user("ana"), 0, Revision::default(), index).await);
    assert!(file.metadata().expect("it is there").len() <= size);
}

#[tokio::test]
async fn what_was_loaded_before_everything_was_forgotten_is_not_written() {
    let (store, data) = store().await;
    let keeper = keeper(store, data.path(), Disk::unwatched()).await;
    let ana = Holder::user("ana");
    let put = |epoch| keeper.put(&ana, epoch, Revision::default(), UserIndex::default());

    assert!(keeper.load(&Holder::user("ana"), 1, Revision::default()).await.is_none());

    assert!(!put(0).await);
    assert!(put(1).await);
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_keeps_nobody_from_searching() {
    let (store, data) = store().await;
    std::fs::write(data.path().join("search"), "no folder").expect("it is ours");
    let settings = SearchFiles::of(data.path());

    let opened = Keeper::open(store.clone(), None, settings, 1 << 20, Disk::unwatched()).await;

    assert!(opened.expect("the database works").is_none());
    let history = store.history().await.expect("the database works");
    assert!(history.last_start.is_some(), "files that are there again later are of an earlier start");
}

#[tokio::test]
async fn a_file_is_due_when_much_has_changed_or_something_was_removed_and_not_too_often() {
    let (store, data) = store().await;
    let keeper = keeper(store, data.path(), Disk::unwatched()).await;
    let revision = Revision { revision: 9, removals: 1 };
    let with_changes = |changes| Filed { changes, ..Filed::read(revision) };

    for (filed, removals, is_due) in [
        (Filed::default(), 1, true),
        (with_changes(0), 1, false),
        (with_changes(10), 1, false),
        (with_changes(11), 1, true),
        (with_changes(0), 2, true),
        (Filed { begun: Some(Instant::now()), ..with_changes(100) }, 2, false),
    ] {
        assert_eq!(keeper.is_due(&filed, removals, 100), is_due, "{filed:?} and {removals} removals");
    }
    assert!(keeper.allows(3) && !keeper.allows(2));
}

#[tokio::test]
async fn one_at_a_time_writes_a_file_and_another_may_once_it_has_ended_in_any_way() {
    let mut filed = Filed::default();
    let writer = filed.writer().expect("nobody writes");
    assert!(filed.writer().is_none());

    let written = tokio::spawn(async move {
        assert!(Arc::strong_count(&writer) > 1, "of the test");
    });
    written.await.expect_err("it has panicked");

    assert!(filed.writer().is_some());
}
