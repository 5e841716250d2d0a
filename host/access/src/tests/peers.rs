//! Two processes that share a database.

use kitbag_database::audit::Actor;
use kitbag_vault::{Account, AccountState, EveryoneOptions, SecretSlot};
use secrecy::ExposeSecret;

use super::*;

const ROUNDS: usize = 50;

/// A second process, with a data directory of its own.
pub(super) struct Peer {
    pub(super) access: Access,
    _folder: TempDir,
}

impl Fixture {
    /// Creates ana's `books`, live in the private version 2.0.0 and shared in 1.0.0, and a second process.
    pub(super) async fn with_peer() -> (Self, Peer) {
        Self::with_peer_and(|_| Hints::off()).await
    }

    /// Same as [`with_peer`](Self::with_peer), with hints between the processes.
    pub(super) async fn with_peer_and(hints: fn(&Database) -> Hints) -> (Self, Peer) {
        let fixture = Self::with_hints(&[("books".to_owned(), "shared", "ana")], hints).await;
        assert!(!fixture.database.is_file(), "`TEST_DATABASE` is not set");
        let folder = tempfile::tempdir().expect("a scratch directory");
        // Both have the same master key.
        std::fs::copy(fixture.folder.path().join("master-key"), folder.path().join("master-key"))
            .expect("the first has made it");
        let database = Database::of_test(fixture.folder.path()).await;
        let stores = stores(folder.path(), &database, hints(&database)).await;
        let access =
            Access::new(stores, Roles { operators: OPERATORS.map(str::to_owned).into(), ..Roles::default() });
        (fixture, Peer { access, _folder: folder })
    }
}

impl Access {
    /// Returns a user whose request starts now: catches up first, as every route does.
    pub(super) async fn request(&self, name: &str) -> User {
        self.catch_up(name).await.expect("the database answers");
        self.of(&Arc::new(Caller {
            user_id: name.to_owned(),
            profile: TokenProfile::Access,
            client_id: None,
            key: None,
            issued_at: i64::MAX,
            scopes: Vec::new(),
            toolkits: None,
            groups: kitbag_identity::Groups::default(),
        }))
    }

    async fn sees(&self, user: &str, id: &str) -> bool {
        self.request(user).await.toolkit(id).is_ok()
    }

    /// Returns the value that a call of this user would see.
    async fn value(&self, user: &str, toolkit: &str) -> Option<String> {
        self.request(user).await;
        let secrets = self.stores().vault.of_user(user).await.expect("the vault opens");
        secrets.get(toolkit, "KEY").map(|value| value.expose_secret().to_owned())
    }

    async fn set(&self, user: &str, toolkit: &str, value: &str) {
        let user = self.request(user).await;
        let secret = user.secret(toolkit, "KEY").expect("it declares it");
        user.set_secret(&secret, &value.into()).await.expect("it may be set");
    }

    pub(super) async fn operator(&self, name: &str) -> Operator {
        self.request(name).await.operator().expect("it is one")
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_one_process_has_removed_is_refused_by_the_next_request_on_the_other() {
    let (first, second) = Fixture::with_peer().await;

    for round in 0..ROUNDS {
        let id = &format!("toolkit{round}");
        insert(&first.database, id, "shared", "ana").await;
        first.database.execute("UPDATE registry SET generation = generation + 1").await;
        let (one, other) =
            if round % 2 == 0 { (&first.access, &second.access) } else { (&second.access, &first.access) };
        assert!(one.sees("una", id).await && other.sees("una", id).await, "round {round}");

        one.operator("ana").await.remove(id).await.expect("it is ana's");

        assert!(!other.sees("una", id).await, "round {round}");
        let called = other.request("una").await.call(&format!("{id}__find"), Map::new(), None).await;
        assert!(matches!(called, Err(CallError::UnknownTool(_))), "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_one_process_has_hidden_is_refused_by_the_next_request_on_the_other() {
    let (first, second) = Fixture::with_peer().await;
    let private = "UPDATE toolkit_versions SET manifest = replace(manifest, '\"shared\"', '\"private\"')
        WHERE version = '2.0.0'; UPDATE registry SET generation = generation + 1";
    first.database.execute(private).await;

    for round in 0..ROUNDS {
        let (version, is_shared) = if round % 2 == 0 { ("1.0.0", true) } else { ("2.0.0", false) };

        let operator = first.access.operator("ana").await;
        operator.roll_back("books", Rollback::to(Some(version))).await.expect("it is ana's");

        assert_eq!(second.access.sees("una", "books").await, is_shared, "round {round}");
        assert!(second.access.sees("ana", "books").await, "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn what_one_process_has_set_or_unset_holds_in_the_next_request_on_the_other() {
    let (first, second) = Fixture::with_peer().await;

    for round in 0..ROUNDS {
        let value = format!("value-of-round-{round}");
        // Each process has read and cached the old state before the other one changes it.
        first.access.set("una", "books", &value).await;
        assert_eq!(second.access.value("una", "books").await.as_deref(), Some(&*value), "round {round}");
        assert_eq!(first.access.value("una", "books").await.as_deref(), Some(&*value), "round {round}");

        second
            .access
            .request("una")
            .await
            .stored_for("books")
            .unset_secret("KEY")
            .await
            .expect("it is there");

        assert_eq!(first.access.value("una", "books").await, None, "round {round}");
        assert_eq!(second.access.value("una", "books").await, None, "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_value_for_everyone_and_an_account_hold_in_the_next_request_on_the_other() {
    let (first, second) = Fixture::with_peer().await;
    let value = async |access: &Access| {
        access.request("una").await;
        let secrets = access.stores().vault.for_call("una", "books").await.expect("the vault opens");
        secrets.get("books", "KEY").map(|value| value.expose_secret().to_owned())
    };
    let connected = async |access: &Access| {
        access.request("una").await;
        access.stores().vault.account("una", "books").await.expect("the vault opens").is_some()
    };
    let account = Account {
        grants: Vec::new(),
        connected_at: 0,
        name: None,
        state: AccountState::Ended { reason: "r".to_owned() },
    };

    for round in 0..ROUNDS {
        let text = format!("value-of-round-{round}");
        let operator = first.access.operator("ana").await;
        let secret = first.access.request("ana").await.secret("books", "KEY").expect("it declares it");
        operator
            .set_secret_for_everyone(
                &secret,
                &text.as_str().into(),
                EveryoneOptions { only: false, readable: true },
            )
            .await
            .expect("it may be set");
        assert_eq!(value(&second.access).await.as_deref(), Some(&*text), "round {round}");
        assert_eq!(value(&first.access).await.as_deref(), Some(&*text), "round {round}");

        let slot = SecretSlot::account("una", "books", "ana");
        second
            .access
            .stores()
            .vault
            .put_account(&Actor::server(), slot, &account)
            .await
            .expect("it is stored");
        assert!(connected(&first.access).await, "round {round}");
        assert!(
            first.access.request("una").await.stored_for("books").end_account().await.expect("it is ended")
        );
        assert!(!connected(&second.access).await, "round {round}");

        let operator = second.access.operator("ben").await;
        operator.unset_secret_for_everyone("books", "KEY").await.expect("it is there");
        assert_eq!(value(&first.access).await, None, "round {round}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn secrets_go_everywhere_with_the_owner_to_whom_they_were_given() {
    let (first, second) = Fixture::with_peer().await;
    for user in ["una", "fay"] {
        second.access.set(user, "books", "a-secret-value").await;
        assert!(second.access.value(user, "books").await.is_some());
    }

    first.access.operator("ben").await.take_over("books").await.expect("it is ana's");

    for user in ["una", "fay"] {
        assert_eq!(second.access.value(user, "books").await, None);
    }
    assert_eq!(
        second.access.request("una").await.toolkit("books").expect("it is shared").live().owner,
        "ben"
    );
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_database_that_has_lost_its_last_changes_is_believed() {
    let (first, second) = Fixture::with_peer().await;
    insert(&first.database, "films", "shared", "ana").await;
    first.database.execute("UPDATE registry SET generation = 9").await;
    first.access.set("una", "books", "the-first-value").await;
    first.access.set("una", "books", "the-second-value").await;
    assert!(second.access.sees("una", "films").await);
    assert!(second.access.value("una", "books").await.is_some());

    // Simulates a failover to a standby that lacks these rows, without a change of timeline.
    let lost = "DELETE FROM toolkits WHERE id = 'films'; UPDATE registry SET generation = 3;
        DELETE FROM secrets; UPDATE secret_revisions SET revision = 1";
    first.database.execute(lost).await;

    assert!(!second.access.sees("una", "films").await);
    assert_eq!(second.access.value("una", "books").await, None);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn another_timeline_is_read_from_the_beginning_although_its_revisions_are_the_same() {
    let (first, second) = Fixture::with_peer().await;
    first.access.set("una", "books", "a-secret-value").await;
    assert!(second.access.sees("una", "books").await);
    assert!(second.access.value("una", "books").await.is_some());

    let promoted = "CREATE OR REPLACE FUNCTION timeline() RETURNS TEXT LANGUAGE sql VOLATILE
            AS $$ SELECT '0000002A' $$;
        DELETE FROM secrets; UPDATE toolkit_versions SET manifest = replace(manifest, '\"shared\"', '\"private\"')";
    first.database.execute(promoted).await;

    assert!(!second.access.sees("una", "books").await);
    assert_eq!(second.access.value("una", "books").await, None);
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_change_reads_no_more_than_what_has_changed() {
    let (first, second) = Fixture::with_peer().await;
    insert(&first.database, "films", "shared", "ana").await;
    first.database.execute("UPDATE registry SET generation = generation + 1").await;
    let before = second.access.request("una").await;
    let live = |user: &User, id: &str| user.toolkit(id).expect("it is shared").live().clone();
    let [books, films] = ["books", "films"].map(|id| live(&before, id));

    // Unchanged manifests must not be read again.
    first
        .database
        .execute("UPDATE toolkit_versions SET manifest = 'broken' WHERE toolkit_id = 'films'")
        .await;
    let operator = first.access.operator("ana").await;
    operator.roll_back("books", Rollback::to(Some("1.0.0"))).await.expect("it is ana's");
    let after = second.access.request("una").await;

    assert!(Arc::ptr_eq(&films, &live(&after, "films")));
    assert!(!Arc::ptr_eq(&books, &live(&after, "books")));
    assert_eq!(live(&after, "books").definition.version, "1.0.0");
}
