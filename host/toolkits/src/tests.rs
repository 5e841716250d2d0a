use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kitbag_base::testing::abandon_after;
use kitbag_database::audit::Actor;
use kitbag_files::objects::Objects;
use kitbag_net::egress::EgressSettings;
use serde_json::json;

use super::*;
use crate::testing::{compiler, sandbox};

/// Opens toolkits with `books`: version 2.0.0 is live, and 1.0.0 was before. The components do not exist.
/// Counts removals.
pub(crate) async fn books(folder: &Path) -> (Database, Arc<Toolkits>, Arc<AtomicUsize>) {
    let database = Database::of_test(folder).await;
    insert_books(&database).await;
    let removals = Arc::new(AtomicUsize::new(0));
    let counter = removals.clone();
    let removed = move || {
        counter.fetch_add(1, Ordering::SeqCst);
    };
    let egress = Egress::new(EgressSettings::default());
    let dependencies = Dependencies {
        components: Objects::of_test(folder, &database).await.components(),
        database: database.clone(),
        sandbox: sandbox(),
        compiler: compiler(),
        disk: Disk::unwatched(),
        egress,
        on_removal: Arc::new(removed),
    };
    let toolkits = Toolkits::open(folder, dependencies, Options::default()).await.expect("they open");
    (database, Arc::new(toolkits), removals)
}

async fn insert_books(database: &Database) {
    let manifest = |version: &str| {
        json!({
            "id": "books", "name": "Books", "description": "Finds books.", "icon": "book",
            "version": version, "visibility": "shared",
            "tools": [{ "name": "find", "description": "Finds one.", "inputSchema": { "type": "object" } }],
        })
        .to_string()
    };
    let version = |version: &str| {
        format!("('books', '{version}', '{version}', 1, '{}', '{{}}', '[]', 'ana', 0)", manifest(version))
    };
    let one = version("1.0.0");
    let two = version("2.0.0");
    database
        .execute(&format!(
            "INSERT INTO toolkit_versions VALUES {one}, {two};
             INSERT INTO toolkits VALUES ('books', 'ana', '2.0.0');
             INSERT INTO toolkit_activations (toolkit_id, version, activated_by, activated_at)
                 VALUES ('books', '1.0.0', 'ana', 0), ('books', '2.0.0', 'ana', 1)"
        ))
        .await;
}

/// Waits until this version is live both in the registry and in the database.
async fn settles_at(expected: Option<&str>, database: &Database, toolkits: &Toolkits, when: &str) {
    let mut seen = (None, None);
    for _ in 0..1_000 {
        let stored = database.column("SELECT live_version FROM toolkits WHERE id = 'books'").await.pop();
        seen = (stored, toolkits.registry.load().get("books").map(|live| live.definition.version.clone()));
        if [&seen.0, &seen.1].iter().all(|it| it.as_deref() == expected) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{when}: expected {expected:?} in the database and the registry, found {seen:?}")
}

#[tokio::test]
async fn a_removal_that_nobody_waits_for_is_not_left_half_done() {
    for polls in 1..30 {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let (database, toolkits, removals) = books(folder.path()).await;

        abandon_after(polls, toolkits.deploys.remove("books", &Actor::user_only("ana"))).await;

        settles_at(None, &database, &toolkits, &format!("dropped after {polls} polls")).await;
        // The callback may run a little later.
        for _ in 0..1_000 {
            if removals.load(Ordering::SeqCst) > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(removals.load(Ordering::SeqCst), 1, "dropped after {polls} polls");
    }
}

#[tokio::test]
async fn a_roll_back_that_nobody_waits_for_is_not_left_half_done() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let (database, toolkits, removals) = books(folder.path()).await;
    for polls in 1..30 {
        let wanted = if polls % 2 == 0 { "2.0.0" } else { "1.0.0" };

        abandon_after(
            polls,
            toolkits.deploys.roll_back("books", Rollback::to(Some(wanted)), &Actor::user_only("ana")),
        )
        .await;

        settles_at(Some(wanted), &database, &toolkits, &format!("dropped after {polls} polls")).await;
    }
    assert_eq!(removals.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn code_stays_loaded_while_the_audience_changes() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let (_database, toolkits, _removals) = books(folder.path()).await;
    let ana = Actor::user_only("ana");
    let live = || toolkits.registry.load().get("books").expect("it is live").clone();
    let before = live();

    let grant = serde_json::from_value(json!({ "group": "sales" })).expect("a grant");
    toolkits.audiences.share("books", vec![grant], &ana).await.expect("it is ana's");

    let shared = live();
    assert_ne!(before.audience, shared.audience);
    assert!(Arc::ptr_eq(&before.code, &shared.code));
    toolkits.deploys.roll_back("books", Rollback::to(Some("1.0.0")), &ana).await.expect("it is ana's");
    assert!(!Arc::ptr_eq(&before.code, &live().code));
}
