mod links;

use std::fs;
use std::path::Path;

use kitbag_base::testing::abandon_after;
use kitbag_database::audit::{Actor, Retention, verify};
use kitbag_database::sql;
use secrecy::ExposeSecret;

use super::*;

async fn database(folder: &Path) -> Database {
    let database = Database::of_test(folder).await;
    add_toolkits(&database).await;
    database
}

async fn add_toolkits(database: &Database) {
    database
        .execute(
            "INSERT INTO toolkits VALUES ('books', 'ana', '1.0.0'), ('films', 'ana', '1.0.0') ON CONFLICT DO NOTHING;
             INSERT INTO toolkit_versions VALUES
                 ('books', '1.0.0', 'a', 1, '{}', '{}', '[]', 'ana', 0),
                 ('films', '1.0.0', 'b', 1, '{}', '{}', '[]', 'ana', 0)
                 ON CONFLICT DO NOTHING;",
        )
        .await;
}

fn key_file(folder: &Path) -> KeySource {
    KeySource::File(folder.join("master-key"))
}

async fn vault(folder: &Path) -> Arc<Vault> {
    let database = Database::of_test(folder).await;
    let vault = Vault::open(database.clone(), key_file(folder)).await.expect("the vault opens");
    add_toolkits(&database).await;
    Arc::new(vault)
}

/// Returns the slot of a secret for a toolkit owned by `ana`.
fn slot(user: &str, toolkit: &str, name: &str) -> SecretSlot {
    let [user, toolkit, name] = [user, toolkit, name].map(str::to_owned);
    SecretSlot { user, toolkit, owner: "ana".to_owned(), name }
}

impl Vault {
    async fn value(&self, user: &str, toolkit: &str, name: &str) -> Option<String> {
        let secrets = self.of_user(user).await.expect("the vault opens");
        secrets.get(toolkit, name).map(|value| value.expose_secret().to_owned())
    }
}

/// Returns all bytes in the data directory.
fn bytes_on_disk(folder: &Path) -> Vec<u8> {
    let files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    files.flat_map(|path| fs::read(path).expect("a file")).collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn a_value_is_there_for_its_user_and_toolkit_and_for_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;

    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();

    assert_eq!(vault.value("ana", "books", "API_KEY").await.as_deref(), Some("s3cr3t-value"));
    assert_eq!(vault.value("ana", "films", "API_KEY").await, None);
    assert_eq!(vault.value("ana", "books", "OTHER").await, None);
    assert_eq!(vault.value("ben", "books", "API_KEY").await, None);
}

#[tokio::test]
async fn a_value_for_one_owners_toolkit_is_not_stored_for_another_owner() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    vault.set(&Actor::server(), slot("una", "books", "KEY"), &"before-the-change".into()).await.unwrap();
    let take_over = "UPDATE toolkits SET owner = 'ben' WHERE id = 'books'";
    vault.store.database().execute(take_over).await;

    for name in ["KEY", "OTHER"] {
        let refused = vault.set(&Actor::server(), slot("una", "books", name), &"s3cr3t-value".into()).await;
        assert!(matches!(refused, Err(VaultError::ToolkitChanged)), "{refused:?}");
    }
    let gone = vault.set(&Actor::server(), slot("una", "absent", "KEY"), &"s3cr3t-value".into()).await;
    assert!(matches!(gone, Err(VaultError::ToolkitChanged)), "{gone:?}");

    assert_eq!(vault.value("una", "books", "KEY").await.as_deref(), Some("before-the-change"));
    assert_eq!(vault.value("una", "books", "OTHER").await, None);
}

#[tokio::test]
async fn what_was_set_survives_a_restart_and_is_nowhere_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let before = vault(folder.path()).await;
    before.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();
    drop(before);

    let after = vault(folder.path()).await;

    assert_eq!(after.value("ana", "books", "API_KEY").await.as_deref(), Some("s3cr3t-value"));
    assert!(!contains(&bytes_on_disk(folder.path()), "s3cr3t-value"));
}

#[tokio::test]
async fn a_changed_or_removed_value_is_gone_at_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"first-value".into()).await.unwrap();
    vault.value("ana", "books", "API_KEY").await.unwrap();

    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"second-value".into()).await.unwrap();
    assert_eq!(vault.value("ana", "books", "API_KEY").await.as_deref(), Some("second-value"));

    assert!(vault.unset(&Actor::server(), "ana", "books", "API_KEY").await.unwrap());
    assert_eq!(vault.value("ana", "books", "API_KEY").await, None);
    assert!(!vault.unset(&Actor::server(), "ana", "books", "API_KEY").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_is_read_while_it_changes_is_never_remembered_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    let reader = vault.clone();
    let reading = tokio::spawn(async move {
        loop {
            reader.value("ana", "books", "API_KEY").await;
            tokio::task::yield_now().await;
        }
    });

    for _ in 0..100 {
        vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();
        // The reader may be decrypting the value that is removed here.
        vault.unset(&Actor::server(), "ana", "books", "API_KEY").await.unwrap();
        assert_eq!(vault.value("ana", "books", "API_KEY").await, None);
    }

    reading.abort();
}

#[tokio::test]
async fn a_list_says_what_is_set_and_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();

    vault.set(&Actor::server(), slot("ana", "books", "UNDECLARED"), &"s3cr3t-value".into()).await.unwrap();

    let definition = ToolkitDefinition {
        secrets: vec!["API_KEY".to_owned(), "OTHER".to_owned()],
        ..ToolkitDefinition::default()
    };
    let list = vault.list("ana", "books", Some(&definition)).await.unwrap();

    assert_eq!(
        list.iter().map(|it| (it.name.as_str(), it.declared, it.set)).collect::<Vec<_>>(),
        [("API_KEY", true, true), ("OTHER", true, false), ("UNDECLARED", false, true)]
    );
    assert!(!serde_json::to_string(&list).unwrap().contains("s3cr3t"));
}

fn everyone(only: bool) -> EveryoneOptions {
    EveryoneOptions { only, readable: true }
}

/// Returns the value of `API_KEY` in a call of the toolkit by this user.
async fn in_call(vault: &Arc<Vault>, user: &str, toolkit: &str) -> Option<String> {
    let secrets = vault.for_call(user, toolkit).await.expect("they open");
    secrets.get(toolkit, "API_KEY").map(|value| value.expose_secret().to_owned())
}

#[tokio::test]
async fn a_value_for_everyone_is_for_all_calls_of_its_toolkit_and_a_users_own_wins_unless_it_must_not() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    assert_eq!(in_call(&vault, "ana", "books").await, None);

    vault
        .set_for_everyone(
            &Actor::server(),
            slot("olga", "books", "API_KEY"),
            &"everyones-value".into(),
            everyone(false),
        )
        .await
        .unwrap();
    assert_eq!(in_call(&vault, "ana", "books").await.as_deref(), Some("everyones-value"));
    assert_eq!(in_call(&vault, "ana", "films").await, None);

    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"her-own-value".into()).await.unwrap();
    assert_eq!(in_call(&vault, "ana", "books").await.as_deref(), Some("her-own-value"));
    assert_eq!(in_call(&vault, "ben", "books").await.as_deref(), Some("everyones-value"));

    vault
        .set_for_everyone(
            &Actor::server(),
            slot("olga", "books", "API_KEY"),
            &"everyones-other".into(),
            everyone(true),
        )
        .await
        .unwrap();
    assert_eq!(in_call(&vault, "ana", "books").await.as_deref(), Some("everyones-other"));
    let secrets = vault.for_call("ana", "books").await.unwrap();
    for value in ["everyones-other", "her-own-value"] {
        let text = format!("a {value} b");
        let shown = secrets.redactor().redact(&text);
        assert!(!shown.contains(value), "{shown}");
    }
    let elsewhere = vault.for_call("ana", "films").await.unwrap();
    assert!(elsewhere.redactor().redact("everyones-other").contains("everyones-other"));

    let definition =
        ToolkitDefinition { secrets: vec!["API_KEY".to_owned()], ..ToolkitDefinition::default() };
    let list = vault.list("ben", "books", Some(&definition)).await.unwrap();
    assert!(!list[0].set && list[0].has_value() && list[0].for_everyone.as_ref().unwrap().only);
    assert!(!serde_json::to_string(&list).unwrap().contains("everyones-other"));
    assert_eq!(vault.users("books").await.unwrap().get("API_KEY"), Some(&1), "everyone is no user");

    vault.unset(&Actor::server(), EVERYONE, "books", "API_KEY").await.unwrap();
    assert_eq!(in_call(&vault, "ana", "books").await.as_deref(), Some("her-own-value"));
    assert_eq!(in_call(&vault, "ben", "books").await, None);
}

#[tokio::test]
async fn what_was_set_for_everyone_for_the_server_alone_is_not_read_by_a_version_that_declares_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    let sealed = EveryoneOptions { only: false, readable: false };
    vault
        .set_for_everyone(
            &Actor::server(),
            slot("olga", "books", "API_KEY"),
            &"everyones-value".into(),
            sealed,
        )
        .await
        .unwrap();

    let secrets = vault.for_call("ana", "books").await.unwrap();
    assert!(secrets.get("books", "API_KEY").is_some() && secrets.readable("books", "API_KEY").is_none());
    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"her-own-value".into()).await.unwrap();
    let secrets = vault.for_call("ana", "books").await.unwrap();
    assert!(secrets.readable("books", "API_KEY").is_some(), "her own");
}

#[tokio::test]
async fn a_value_for_everyone_that_does_not_open_stops_calls_of_its_toolkit_alone() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    vault
        .set_for_everyone(
            &Actor::server(),
            slot("olga", "books", "API_KEY"),
            &"everyones-value".into(),
            everyone(false),
        )
        .await
        .unwrap();
    vault.store.database().write(sql("UPDATE secrets SET wrapped_key = $1").bind(vec![0])).await;
    vault.clear_cache();

    assert!(vault.for_call("ana", "books").await.is_err());
    assert!(vault.for_call("ana", "films").await.is_ok());
}

#[tokio::test]
async fn a_value_that_is_no_secret_is_refused_without_being_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    let half = "x".repeat(MAX_VALUE_BYTES);

    for value in ["", &"hunter2".repeat(MAX_VALUE_BYTES)] {
        let refused =
            vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &value.into()).await.unwrap_err();
        assert!(matches!(&refused, VaultError::Refused(why) if !why.contains("hunter2")), "{refused}");
    }
    for name in 0..MAX_BYTES_PER_USER / MAX_VALUE_BYTES {
        vault
            .set(&Actor::server(), slot("ana", "books", &format!("KEY_{name}")), &half.as_str().into())
            .await
            .unwrap();
    }
    let one_more = vault.set(&Actor::server(), slot("ana", "films", "KEY"), &"one too many".into()).await;
    assert!(matches!(one_more, Err(VaultError::Refused(_))));
    vault
        .set(&Actor::server(), slot("ana", "books", "KEY_0"), &"a shorter one in its place".into())
        .await
        .unwrap();
    vault.set(&Actor::server(), slot("ben", "films", "KEY"), &"another user".into()).await.unwrap();
}

#[tokio::test]
async fn the_lines_of_all_values_of_a_user_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    let lines = |count: usize| "longer than six\n".repeat(count);

    // The whole value counts as one line too.
    vault
        .set(&Actor::server(), slot("ana", "books", "KEY"), &lines(MAX_LINES_PER_USER - 1).into())
        .await
        .unwrap();
    let refused =
        vault.set(&Actor::server(), slot("ana", "films", "KEY"), &"one too many".into()).await.unwrap_err();

    assert!(matches!(&refused, VaultError::Refused(why) if why.contains("512 lines")), "{refused}");
    vault.set(&Actor::server(), slot("ana", "films", "KEY"), &"short".into()).await.unwrap();
    vault.set(&Actor::server(), slot("ana", "books", "KEY"), &"in its place".into()).await.unwrap();
    vault.set(&Actor::server(), slot("ana", "films", "KEY"), &"one more".into()).await.unwrap();
}

#[tokio::test]
async fn a_change_that_nobody_waits_for_is_not_left_half_done() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    let stored = async || vault.store.names("ana", "books").await.unwrap().len();
    let agrees = async || {
        // The database changes first, the cache after it.
        for _ in 0..200 {
            if usize::from(vault.value("ana", "books", "API_KEY").await.is_some()) == stored().await {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    };

    for times in 0..40 {
        vault.value("ana", "books", "API_KEY").await;
        abandon_after(
            times,
            vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()),
        )
        .await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(agrees().await, "set, dropped after {times} polls");
        abandon_after(times, vault.unset(&Actor::server(), "ana", "books", "API_KEY")).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(agrees().await, "unset, dropped after {times} polls");
    }
}

#[tokio::test]
async fn a_toolkit_takes_its_secrets_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();
    vault.value("ana", "books", "API_KEY").await.unwrap();

    vault.store.database().execute("DELETE FROM toolkits WHERE id = 'books'").await;
    vault.clear_cache();

    assert_eq!(vault.value("ana", "books", "API_KEY").await, None);
    let late = vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await;
    assert!(matches!(late, Err(VaultError::ToolkitChanged)), "{late:?}");
}

#[tokio::test]
async fn a_record_that_was_moved_or_changed_stops_its_users_calls() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    vault.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();

    let steal = "INSERT INTO secrets SELECT 'eve', toolkit_id, name, master_key, wrapped_key, sealed, updated_at, overrides, readable FROM secrets";
    vault.store.database().execute(steal).await;

    assert!(vault.of_user("eve").await.is_err());
    vault
        .set(&Actor::server(), slot("eve", "books", "API_KEY"), &"a value of eve's own".into())
        .await
        .unwrap();
    assert_eq!(vault.value("eve", "books", "API_KEY").await.as_deref(), Some("a value of eve's own"));
    assert_eq!(vault.value("ana", "books", "API_KEY").await.as_deref(), Some("s3cr3t-value"));
}

#[tokio::test]
async fn a_rotation_leaves_every_value_and_takes_the_old_key_away() {
    let folder = tempfile::tempdir().unwrap();
    let before = vault(folder.path()).await;
    for number in 0..3 {
        before
            .set(
                &Actor::server(),
                slot("ana", "books", &format!("KEY_{number}")),
                &format!("value-{number}").into(),
            )
            .await
            .unwrap();
    }
    let old_key = fs::read_to_string(folder.path().join("master-key")).unwrap();

    let rotated = before.rotate(&Actor::server()).await.unwrap();

    let new_key = fs::read_to_string(folder.path().join("master-key")).unwrap();
    assert_eq!(rotated.rewrapped, 3);
    expect_sealed_log(folder.path(), &rotated.master_key).await;
    assert_eq!(before.value("ana", "books", "KEY_1").await.as_deref(), Some("value-1"));
    assert!(!new_key.contains(old_key.trim()) && new_key.lines().count() == 1);
    let after = vault(folder.path()).await;
    assert_eq!(after.value("ana", "books", "KEY_2").await.as_deref(), Some("value-2"));
    let with_old_key = Vault::open(database(folder.path()).await, KeySource::Text(old_key.into())).await;
    assert!(matches!(with_old_key.err(), Some(OpenError::KeyMissing { records: 3, .. })));
}

/// Asserts that the audit log is sealed with this master key alone, the one in the file, and is unchanged.
async fn expect_sealed_log(folder: &Path, master_key: &str) {
    let database = database(folder).await;
    let keys = audit_keys(&key_file(folder)).await.expect("a key");
    let verified =
        verify(&database, Some(&keys), Retention::of_all(Duration::ZERO)).await.expect("it is read");
    assert_eq!(verified.faults, []);
    assert_eq!(database.audit_key_names().await.expect("it is read"), [master_key]);
}

#[tokio::test]
async fn a_rotation_does_not_seal_what_somebody_has_changed_in_the_log_unseen() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    for name in ["KEY_1", "KEY_2"] {
        vault.set(&Actor::server(), slot("ana", "books", name), &"s3cr3t-value".into()).await.unwrap();
    }
    let remove_all =
        "DELETE FROM audit; UPDATE audit_chains SET removed = newest, removed_hash = newest_hash";
    vault.store.database().execute(remove_all).await;

    vault.rotate(&Actor::server()).await.unwrap();

    let keys = audit_keys(&key_file(folder.path())).await.unwrap();
    let verified =
        verify(vault.store.database(), Some(&keys), Retention::of_all(Duration::ZERO)).await.unwrap();
    let found: Vec<_> = verified.faults.iter().map(|fault| fault.what.as_str()).collect();
    assert!(found.len() == 1 && found[0].contains("the record of its ends was changed"), "{found:?}");
}

#[tokio::test]
async fn the_log_stays_whole_while_the_key_is_rotated_and_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    let writing = async |user: &str| {
        for number in 0..20 {
            let slot = slot(user, "books", &format!("KEY_{number}"));
            vault.set(&Actor::server(), slot, &"s3cr3t-value".into()).await.unwrap();
        }
    };
    let rotating = async {
        for _ in 0..5 {
            vault.rotate(&Actor::server()).await.unwrap();
        }
    };

    let ((), (), ()) = futures::join!(writing("ana"), writing("ben"), rotating);

    let rotated = vault.rotate(&Actor::server()).await.unwrap();
    expect_sealed_log(folder.path(), &rotated.master_key).await;
}

#[tokio::test]
async fn a_broken_record_keeps_its_key_and_stops_neither_a_rotation_nor_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let before = vault(folder.path()).await;
    for toolkit in ["books", "films"] {
        before.set(&Actor::server(), slot("ana", toolkit, "KEY"), &"s3cr3t-value".into()).await.unwrap();
    }
    let break_one = sql("UPDATE secrets SET wrapped_key = $1 WHERE toolkit_id = 'books'").bind(vec![0]);
    before.store.database().write(break_one).await;
    let keys = || fs::read_to_string(folder.path().join("master-key")).unwrap().lines().count();

    let first = before.rotate(&Actor::server()).await.unwrap();
    let second = before.rotate(&Actor::server()).await.unwrap();

    assert_eq!((first.rewrapped, first.broken), (1, 1));
    assert_eq!((second.rewrapped, second.broken), (1, 1));
    // The new key and the key of the broken record.
    assert_eq!(keys(), 2);
    drop(before);
    let after = vault(folder.path()).await;
    // Her calls fail until she has replaced or removed it.
    assert!(after.of_user("ana").await.is_err());
    after.unset(&Actor::server(), "ana", "books", "KEY").await.unwrap();
    assert_eq!(after.value("ana", "films", "KEY").await.as_deref(), Some("s3cr3t-value"));
    drop(after);
    vault(folder.path()).await;
    assert_eq!(keys(), 1);
}

#[tokio::test]
async fn a_rotation_of_nothing_fails_and_says_what_is_left_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = [[1_u8; 32], [2; 32]].map(hex::encode);
    let open = async |keys: &str| {
        let source = KeySource::Text(keys.into());
        Arc::new(Vault::open(database(folder.path()).await, source).await.unwrap())
    };
    let rotate = async |keys: &str| open(keys).await.rotate(&Actor::server()).await;
    let before = open(&old).await;
    before.set(&Actor::server(), slot("ana", "books", "KEY"), &"s3cr3t-value".into()).await.unwrap();
    drop(before);

    // One key, and the new key after the old one.
    for keys in [old.clone(), format!("{old} {new}")] {
        let refused = rotate(&keys).await.unwrap_err();
        let VaultError::NothingRotated { master_key, .. } = &refused else { panic!("{refused:?}") };
        assert!(refused.to_string().contains(master_key.as_str()), "{refused}");
        assert!(refused.to_string().contains("give it a new one before that one"), "{refused}");
    }
    let both = format!("{new} {old}");
    assert_eq!(rotate(&both).await.unwrap().rewrapped, 1);
    assert!(matches!(rotate(&both).await, Err(VaultError::NothingRotated { .. })), "it is done");
    assert!(matches!(rotate(&new).await, Err(VaultError::NothingRotated { .. })));
    let recorded = "SELECT name FROM audit WHERE act = 'master_key.rotated'";
    let recorded: Vec<String> = database(folder.path()).await.column(recorded).await;
    assert_eq!(recorded.len(), 1, "only what was rotated is recorded");
}

#[tokio::test]
async fn a_service_without_secrets_rotates_too() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = [[1_u8; 32], [2; 32]].map(hex::encode);
    let open = async |keys: &str| {
        let source = KeySource::Text(keys.into());
        Arc::new(Vault::open(database(folder.path()).await, source).await.unwrap())
    };
    let before = open(&old).await;
    before.set(&Actor::server(), slot("ana", "books", "KEY"), &"s3cr3t-value".into()).await.unwrap();
    before.unset(&Actor::server(), "ana", "books", "KEY").await.unwrap();
    drop(before);

    // The audit log is sealed with the old key.
    let rotated = open(&format!("{new} {old}")).await.rotate(&Actor::server()).await.unwrap();

    assert_eq!(rotated.rewrapped, 0);
    open(&new).await;
}

#[tokio::test]
async fn a_rotation_that_a_crash_interrupted_is_finished_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let before = vault(folder.path()).await;
    before.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();
    let path = folder.path().join("master-key");
    // Both keys are in the file, and the record is still under the old one.
    before.keys.load().with_new_key().save(&path).unwrap();
    drop(before);

    let after = vault(folder.path()).await;

    assert_eq!(after.value("ana", "books", "API_KEY").await.as_deref(), Some("s3cr3t-value"));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    let master_key = after.keys.load().current().name().to_owned();
    assert_eq!(after.store.master_keys().await.unwrap(), [(master_key.clone(), 1)]);
    expect_sealed_log(folder.path(), &master_key).await;
    let recorded = "SELECT actor || name FROM audit WHERE act = 'master_key.rotated'";
    let database = database(folder.path()).await;
    assert_eq!(database.column::<String>(recorded).await, [master_key.as_str()]);

    // A start that finds nothing to finish records nothing.
    vault(folder.path()).await;
    assert_eq!(database.column::<String>(recorded).await, [master_key]);
}

#[tokio::test]
async fn a_lost_key_is_said_and_no_other_is_made_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let before = vault(folder.path()).await;
    before.set(&Actor::server(), slot("ana", "books", "API_KEY"), &"s3cr3t-value".into()).await.unwrap();
    fs::remove_file(folder.path().join("master-key")).unwrap();

    let opened = Vault::open(database(folder.path()).await, key_file(folder.path())).await;

    assert!(matches!(opened.err(), Some(OpenError::Key(MasterKeyError::File { .. }))));
    assert!(!folder.path().join("master-key").exists());
}
