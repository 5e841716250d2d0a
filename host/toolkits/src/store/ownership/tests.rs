use kitbag_database::Database;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::provenance::{Provenance, SignatureRule};
use crate::store::{DeployStore, Expected, LiveStore, NewVersion, Rollback, Versions};

/// Stores `books` of `ana`, private in version 1.0.0, with a secret and a setting of `una`.
async fn books() -> (TempDir, Database, DeployStore) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).await.unwrap();
    let store = DeployStore::new(database.clone());
    deploy(&database, "ana", "1.0.0", "private", Claim::OwnOnly).await.unwrap();
    let settings = "INSERT INTO secrets VALUES ('una', 'books', 'KEY', 'k', x'00', x'00', 0, 0, 0);
                    INSERT INTO user_config VALUES ('una', 'books', 'unit', '1')";
    database.execute(settings).await;
    (folder, database, store)
}

async fn deploy(
    database: &Database,
    by: &str,
    version: &str,
    visibility: &str,
    claim: Claim,
) -> Result<Option<TakenOver>, ToolkitError> {
    let definition = json!({
        "id": "books", "name": "Books", "description": "Finds books.", "icon": "📚",
        "version": version, "visibility": visibility,
        "tools": [{ "name": "find", "description": "Finds one.", "inputSchema": { "type": "object" } }],
    });
    let definition = kitbag_manifest::validate(serde_json::from_value(definition).unwrap()).unwrap();
    let waits = "INSERT INTO toolkit_uploads VALUES ($1, 'books', $1, 1, '{}', '[]', 'ana', 0, NULL, NULL, FALSE, NULL, NULL) ON CONFLICT DO NOTHING";
    database.write(sql(waits).bind(version)).await;
    let new = NewVersion {
        definition: &definition,
        imports: &[],
        picture: None,
        digest: version,
        size: 1,
        file: None,
        by: &Actor::user_only(by),
        claim,
        vouch: None,
        expected: &Expected::Anything,
        provenance: &Provenance::default(),
        rule: SignatureRule::Optional,
    };
    DeployStore::new(database.clone()).record(new).await.map(|recorded| recorded.taken_over)
}

fn owners(database: &Database) -> OwnershipStore {
    OwnershipStore::new(database.clone())
}

/// Returns the owner, and the number of secrets and settings.
async fn state(database: &Database) -> (String, i64) {
    let sql =
        "SELECT owner, (SELECT count(*) FROM secrets) + (SELECT count(*) FROM user_config) FROM toolkits";
    database.rows(sql).await.remove(0)
}

/// Returns the former owner, as users see it.
async fn taken_from(database: &Database) -> Option<String> {
    LiveStore::new(database.clone()).read(|_| true).await.unwrap().toolkits.remove(0).taken_from
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: &Result<T, ToolkitError>) {
    assert!(matches!(outcome, Err(ToolkitError::NotOwner { owner, .. }) if owner == "ana"), "{outcome:?}");
}

#[tokio::test]
async fn another_operator_changes_nothing_of_a_private_toolkit() {
    let (_folder, database, store) = books().await;

    assert_refused(&deploy(&database, "ben", "2.0.0", "private", Claim::OwnOnly).await);
    assert_refused(&deploy(&database, "ben", "2.0.0", "shared", Claim::OwnOnly).await);
    assert_refused(&deploy(&database, "ben", "1.0.0", "private", Claim::OwnOnly).await);
    assert_refused(
        &store
            .activate(
                "books",
                &Rollback::to(Some("1.0.0")),
                SignatureRule::Optional,
                &Actor::user_only("ben"),
            )
            .await,
    );
    assert_refused(&store.remove("books", &Actor::user_only("ben")).await);
    assert_refused(&owners(&database).release("books", &Actor::user_only("ben")).await);

    assert_eq!(state(&database).await, ("ana".to_owned(), 2));
    assert!(history(&database, "books").await.unwrap().is_empty());
    deploy(&database, "ana", "2.0.0", "shared", Claim::OwnOnly).await.unwrap();
    // A shared toolkit: any operator may change it, except to make it private.
    assert_eq!(deploy(&database, "ben", "3.0.0", "shared", Claim::OwnOnly).await.unwrap(), None);
    assert_refused(&deploy(&database, "ben", "4.0.0", "private", Claim::OwnOnly).await);
    assert_refused(
        &store
            .activate(
                "books",
                &Rollback::to(Some("1.0.0")),
                SignatureRule::Optional,
                &Actor::user_only("ben"),
            )
            .await,
    );
    store
        .activate("books", &Rollback::to(Some("2.0.0")), SignatureRule::Optional, &Actor::user_only("ben"))
        .await
        .unwrap();
    assert_eq!(state(&database).await, ("ana".to_owned(), 2));
}

#[tokio::test]
async fn with_another_owner_goes_what_users_have_set_and_a_line_stays() {
    let (_folder, database, store) = books().await;
    let taken = TakenOver { from: "ana".to_owned(), removed_secrets: 1, removed_settings: 1 };

    // A refused version does not change the owner.
    let refused = deploy(&database, "ben", "1.0.0", "shared", Claim::TakeOver).await;
    assert!(matches!(refused, Err(ToolkitError::VersionTaken { .. })), "{refused:?}");
    assert_eq!(state(&database).await, ("ana".to_owned(), 2));
    let outcome = deploy(&database, "ben", "2.0.0", "private", Claim::TakeOver).await.unwrap();

    assert_eq!(outcome, Some(taken));
    assert_eq!(state(&database).await, ("ben".to_owned(), 0));
    assert!(matches!(
        owners(&database).take_over("books", &Actor::user_only("ben")).await,
        Err(ToolkitError::AlreadyOwner(_))
    ));
    assert_eq!(taken_from(&database).await.as_deref(), Some("ana"));
    store.remove("books", &Actor::user_only("ben")).await.unwrap();
    deploy(&database, "ben", "1.0.0", "private", Claim::OwnOnly).await.unwrap();
    let events: Vec<_> = history(&database, "books").await.unwrap().into_iter().map(|it| it.event).collect();
    assert_eq!(events, ["removed", "taken-over"]);
    assert_eq!(taken_from(&database).await, None, "this one was never taken over");
}

#[tokio::test]
async fn what_its_owner_releases_is_the_next_ones_unless_they_use_it_again() {
    let (_folder, database, _store) = books().await;

    owners(&database).release("books", &Actor::user_only("ana")).await.unwrap();
    owners(&database).release("books", &Actor::user_only("ana")).await.unwrap();
    assert!(Versions::new(database.clone()).record("books").await.unwrap().released);
    assert_eq!(deploy(&database, "ana", "1.0.0", "private", Claim::OwnOnly).await.unwrap(), None);
    assert_refused(&deploy(&database, "ben", "2.0.0", "private", Claim::OwnOnly).await);
    owners(&database).release("books", &Actor::user_only("ana")).await.unwrap();
    let taken = deploy(&database, "ben", "2.0.0", "private", Claim::OwnOnly).await.unwrap();

    assert_eq!(taken.map(|taken| taken.from).as_deref(), Some("ana"));
    assert_eq!(state(&database).await, ("ben".to_owned(), 0));
    let record = Versions::new(database.clone()).record("books").await.unwrap();
    let events: Vec<_> = record.ownership.iter().map(|it| (&*it.event, &*it.by)).collect();
    assert_eq!(events, [("taken-over", "ben"), ("released", "ana"), ("kept", "ana"), ("released", "ana")]);
    assert!(!record.released);
}

#[tokio::test]
async fn an_id_stays_its_owners_when_the_toolkit_is_removed() {
    let (_folder, database, store) = books().await;
    let refused = async |by: &str| {
        let outcome = deploy(&database, by, "1.0.0", "private", Claim::OwnOnly).await;
        assert!(
            matches!(&outcome, Err(ToolkitError::RemovedOfOther { owner, .. }) if owner == "ana"),
            "{outcome:?}"
        );
    };
    deploy(&database, "ana", "2.0.0", "shared", Claim::OwnOnly).await.unwrap();
    store.remove("books", &Actor::user_only("ben")).await.unwrap();

    refused("ben").await;
    // Deploying it as shared first does not help: it belongs to ana again.
    assert_eq!(deploy(&database, "ben", "1.0.0", "shared", Claim::OwnOnly).await.unwrap(), None);
    assert_eq!(state(&database).await, ("ana".to_owned(), 0));
    assert_refused(&deploy(&database, "ben", "2.0.0", "private", Claim::OwnOnly).await);
    store.remove("books", &Actor::user_only("ben")).await.unwrap();
    refused("ben").await;

    let taken = deploy(&database, "ben", "1.0.0", "private", Claim::TakeOver).await.unwrap();
    assert_eq!(taken.map(|taken| taken.from).as_deref(), Some("ana"));
    assert_eq!(state(&database).await.0, "ben");
    assert_eq!(taken_from(&database).await.as_deref(), Some("ana"));
    store.remove("books", &Actor::user_only("ben")).await.unwrap();
    deploy(&database, "ben", "1.0.0", "private", Claim::OwnOnly).await.unwrap();
}
