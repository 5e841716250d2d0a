//! Tests of cached values with a real database and a real vault.

use std::fs;
use std::path::Path;

use kitbag_database::audit::Actor;
use kitbag_database::{Scope, sql};
use kitbag_manifest::cache::{MAX_TOTAL_BYTES, MAX_VALUE_BYTES, MAX_VALUES};

use super::sweep::sweep;
use super::*;
use crate::{Account, AccountState, EveryoneOptions, KeySource, SecretSlot, Tokens};

const TOOLKITS: &str = "
    INSERT INTO toolkits VALUES ('books', 'op', '1.0.0'), ('films', 'op', '1.0.0') ON CONFLICT DO NOTHING;
    INSERT INTO toolkit_versions VALUES
        ('books', '1.0.0', 'a', 1, '{}', '{}', '[]', 'op', 0),
        ('films', '1.0.0', 'b', 1, '{}', '{}', '[]', 'op', 0) ON CONFLICT DO NOTHING;";

async fn vault(folder: &Path, source: KeySource) -> Arc<Vault> {
    let database = Database::of_test(folder).await;
    database.execute(TOOLKITS).await;
    Arc::new(Vault::open(database, source).await.expect("the vault opens"))
}

async fn cache_with(folder: &Path, disk: Disk) -> UserCache {
    let vault = vault(folder, KeySource::File(folder.join("master-key"))).await;
    UserCache::new(Database::of_test(folder).await, vault, disk)
}

async fn cache(folder: &Path) -> UserCache {
    cache_with(folder, Disk::unwatched()).await
}

fn slot(user: &str, toolkit: &str) -> CacheSlot {
    CacheSlot { user: user.into(), toolkit: toolkit.into(), owner: "op".into() }
}

impl UserCache {
    async fn value(&self, slot: &CacheSlot, key: &str) -> Option<String> {
        let value = self.get(slot, key).await.expect("a valid key");
        value.map(|value| value.expose_secret().to_owned())
    }

    async fn keep(&self, slot: &CacheSlot, key: &str, value: &str) {
        self.set(slot, key, value.into(), None).await.expect("it can be kept");
    }

    async fn values(&self, slot: &CacheSlot) -> u64 {
        self.usage(&slot.user, &slot.toolkit).await.expect("the database answers").values
    }
}

/// Inserts values of this size, the oldest first. They cannot be decrypted.
async fn fill(cache: &UserCache, slot: &CacheSlot, count: usize, size: usize) {
    let database = cache.store.database();
    let mut transaction = database.begin(Scope::AllCached).await.expect("nobody keeps the writer");
    for number in 0..count {
        sql("INSERT INTO cached_values
                 (user_id, toolkit_id, digest, size, written_at, expires_at, master_key, wrapped_key, sealed)
             VALUES ($1, $2, $3, $4, $5, $6, 'k', $7, $7)")
        .bind(&*slot.user)
        .bind(&*slot.toolkit)
        .bind(&slot.digest(&number.to_string())[..])
        .bind(i64::try_from(size).expect("small"))
        .bind(i64::try_from(number).expect("small"))
        .bind(i64::MAX)
        .bind(&b"bytes"[..])
        .execute(&mut transaction)
        .await
        .expect("a valid statement");
    }
    transaction.commit().await.expect("it can be committed");
}

async fn is_stored(cache: &UserCache, slot: &CacheSlot, key: &str) -> bool {
    cache.store.get(slot, &slot.digest(key), 0).await.expect("the database answers").is_some()
}

#[tokio::test]
async fn a_value_is_there_for_its_user_and_toolkit_until_it_is_replaced_or_removed() {
    let folder = tempfile::tempdir().unwrap();
    let first = cache(folder.path()).await;
    let second = cache(folder.path()).await;
    let ours = slot("ana", "books");

    first.keep(&ours, "etag\0ä", "one").await;

    // Visible to another process, too.
    assert_eq!(second.value(&ours, "etag\0ä").await.as_deref(), Some("one"));
    for (other, key) in [
        (slot("ben", "books"), "etag\0ä"),
        (slot("ana", "films"), "etag\0ä"),
        (CacheSlot { owner: "new".into(), ..ours.clone() }, "etag\0ä"),
        (ours.clone(), "etag"),
    ] {
        assert_eq!(first.value(&other, key).await, None, "{other:?} {key}");
    }

    second.keep(&ours, "etag\0ä", "").await;
    assert_eq!(first.value(&ours, "etag\0ä").await.as_deref(), Some(""));
    second.delete(&slot("ben", "books"), "etag\0ä").await.unwrap();
    assert!(first.value(&ours, "etag\0ä").await.is_some());
    second.delete(&ours, "etag\0ä").await.unwrap();
    assert_eq!(first.value(&ours, "etag\0ä").await, None);
    second.delete(&ours, "etag\0ä").await.unwrap();
}

#[tokio::test]
async fn neither_a_key_nor_a_value_is_readable_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;

    cache.keep(&slot("ana", "books"), "k3y-of-the-value", "s3cr3t-value").await;

    let files = fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("an entry").path());
    let bytes: Vec<u8> = files.flat_map(|path| fs::read(path).expect("a file")).collect();
    for text in ["k3y-of-the-value", "s3cr3t-value"] {
        assert!(!bytes.windows(text.len()).any(|window| window == text.as_bytes()), "{text}");
    }
}

#[tokio::test]
async fn a_row_that_is_moved_to_another_user_or_toolkit_does_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    cache.keep(&slot("ana", "books"), "key", "value").await;

    for (change, thief) in [
        ("user_id = 'eve'", slot("eve", "books")),
        ("user_id = 'eve', toolkit_id = 'films'", slot("eve", "films")),
    ] {
        cache.store.database().execute(&format!("UPDATE cached_values SET {change}")).await;
        assert_eq!(cache.value(&thief, "key").await, None);
        // An attacker who can write rows can compute the digest.
        let digest = thief.digest("key");
        cache.store.database().write(sql("UPDATE cached_values SET digest = $1").bind(&digest[..])).await;
        assert!(is_stored(&cache, &thief, "key").await);
        assert_eq!(cache.value(&thief, "key").await, None);
    }

    let digest = slot("ana", "books").digest("key");
    let back = sql("UPDATE cached_values SET user_id = 'ana', toolkit_id = 'books', digest = $1");
    cache.store.database().write(back.bind(&digest[..])).await;
    assert_eq!(cache.value(&slot("ana", "books"), "key").await.as_deref(), Some("value"));
}

#[tokio::test]
async fn keys_values_and_times_beyond_their_bounds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    let refusal = async |key: &str, length: usize, seconds| match cache
        .set(&ours, key, "v".repeat(length).into(), seconds)
        .await
    {
        Err(CacheError::Invalid(why)) => why,
        other => panic!("{other:?}"),
    };

    assert!(refusal("", 1, None).await.contains("key: is empty"));
    assert!(refusal(&"k".repeat(257), 1, None).await.contains("key: is 257 bytes long, and may be 256"));
    let too_large = refusal("k", MAX_VALUE_BYTES + 1, None).await;
    assert!(too_large.contains("value: is 65537 bytes long, and may be 65536"));
    assert!(refusal("k", 1, Some(0)).await.contains("may be 1 to 2592000"));
    assert!(refusal("k", 1, Some(MAX_SECONDS + 1)).await.contains("may be 1 to 2592000"));
    assert!(matches!(cache.get(&ours, "").await, Err(CacheError::Invalid(_))));
    assert!(matches!(cache.delete(&ours, &"k".repeat(257)).await, Err(CacheError::Invalid(_))));
    assert_eq!(cache.values(&ours).await, 0);

    let key = "k".repeat(256);
    let value = "v".repeat(MAX_VALUE_BYTES);
    cache.set(&ours, &key, value.as_str().into(), Some(MAX_SECONDS)).await.unwrap();
    assert_eq!(cache.value(&ours, &key).await, Some(value));
}

#[tokio::test]
async fn beyond_a_megabyte_the_oldest_values_make_room_and_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    let others = [slot("ana", "films"), slot("ben", "books")];
    let size = MAX_TOTAL_BYTES / 16;
    for slot in [&ours, &others[0], &others[1]] {
        fill(&cache, slot, 16, size).await;
    }

    cache.keep(&ours, "new", "value").await;

    assert!(!is_stored(&cache, &ours, "0").await && is_stored(&cache, &ours, "1").await);
    let usage = cache.usage("ana", "books").await.unwrap();
    assert_eq!((usage.values, usage.bytes), (16, (15 * size + "newvalue".len()) as u64));
    for other in &others {
        assert_eq!(cache.values(other).await, 16);
    }

    // A replaced value counts once.
    cache.keep(&ours, "new", "other").await;
    assert_eq!(cache.values(&ours).await, 16);
    assert!(is_stored(&cache, &ours, "1").await);
}

#[tokio::test]
async fn beyond_a_thousand_values_the_oldest_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    fill(&cache, &ours, MAX_VALUES, 2).await;

    cache.keep(&ours, "new", "value").await;

    assert_eq!(cache.values(&ours).await, MAX_VALUES as u64);
    assert!(!is_stored(&cache, &ours, "0").await && is_stored(&cache, &ours, "1").await);
    assert_eq!(cache.value(&ours, "new").await.as_deref(), Some("value"));
}

#[tokio::test]
async fn the_new_value_stays_even_if_all_others_are_of_the_future() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    fill(&cache, &ours, 16, MAX_TOTAL_BYTES / 16).await;
    cache.store.database().execute("UPDATE cached_values SET written_at = 9000000000000000000").await;

    cache.keep(&ours, "new", "value").await;

    assert_eq!(cache.value(&ours, "new").await.as_deref(), Some("value"));
    assert_eq!(cache.values(&ours).await, 16);
}

#[tokio::test]
async fn a_value_whose_time_is_over_is_not_found_and_swept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    cache.set(&ours, "short", "value".into(), Some(60)).await.unwrap();
    cache.keep(&ours, "long", "value").await;
    let age: Vec<i64> =
        cache.store.database().column("SELECT expires_at - written_at FROM cached_values ORDER BY 1").await;
    assert_eq!(age, [60_000, i64::from(MAX_SECONDS) * 1000]);

    let pass =
        format!("UPDATE cached_values SET expires_at = {} WHERE expires_at - written_at = 60000", now());
    cache.store.database().execute(&pass).await;

    assert_eq!(cache.value(&ours, "short").await, None);
    assert_eq!(cache.value(&ours, "long").await.as_deref(), Some("value"));
    assert_eq!(cache.values(&ours).await, 2);
    sweep(&cache.store).await.unwrap();
    assert_eq!(cache.values(&ours).await, 1);
    assert_eq!(cache.value(&ours, "long").await.as_deref(), Some("value"));
}

#[tokio::test]
async fn a_value_whose_time_is_over_makes_room_at_the_next_change() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    cache.keep(&ours, "old", "value").await;
    cache.store.database().execute("UPDATE cached_values SET expires_at = 1").await;

    cache.keep(&ours, "new", "value").await;

    assert!(!is_stored(&cache, &ours, "old").await);
    assert_eq!(cache.values(&ours).await, 1);
}

#[tokio::test]
async fn so_many_changes_at_once_and_no_more_are_made_by_one_toolkit_for_one_user() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    let mut refused = None;
    for number in 0..2 * MAX_CHANGES_AT_ONCE.get() {
        if let Err(error) = cache.set(&ours, &number.to_string(), "v".into(), None).await {
            refused = Some((number, error));
            break;
        }
    }

    let (changes, error) = refused.expect("a loop is stopped");
    assert!((MAX_CHANGES_AT_ONCE.get()..2 * MAX_CHANGES_AT_ONCE.get()).contains(&changes), "{changes}");
    assert!(matches!(&error, CacheError::Unavailable(why) if why.contains("too often")), "{error:?}");
    assert!(matches!(cache.delete(&ours, "0").await, Err(CacheError::Unavailable(_))));
    // Reads still succeed, and other slots are not limited.
    assert_eq!(cache.value(&ours, "0").await.as_deref(), Some("v"));
    cache.keep(&slot("ana", "films"), "k", "v").await;
    cache.keep(&slot("ben", "books"), "k", "v").await;
}

#[tokio::test]
async fn without_room_on_the_disk_nothing_is_kept_and_what_is_there_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let ours = slot("ana", "books");
    cache(folder.path()).await.keep(&ours, "key", "value").await;
    let full = cache_with(folder.path(), Disk::new(folder.path(), Some(u64::MAX)).unwrap()).await;

    let refused = full.set(&ours, "other", "value".into(), None).await;

    assert!(
        matches!(&refused, Err(CacheError::Unavailable(why)) if why.contains("nearly full")),
        "{refused:?}"
    );
    assert_eq!(full.value(&ours, "key").await.as_deref(), Some("value"));
    full.delete(&ours, "key").await.unwrap();
    assert_eq!(full.value(&ours, "key").await, None);
}

#[tokio::test]
async fn a_database_that_fails_has_no_values_and_takes_none() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    cache.keep(&ours, "key", "value").await;
    cache.store.database().execute("ALTER TABLE cached_values RENAME TO gone").await;

    assert_eq!(cache.value(&ours, "key").await, None);
    let refused = cache.set(&ours, "key", "other".into(), None).await;
    let unavailable = CacheError::Unavailable("the server's database does not answer".to_owned());
    assert_eq!(refused, Err(unavailable.clone()));
    assert_eq!(cache.delete(&ours, "key").await, Err(unavailable));
}

#[tokio::test]
async fn values_go_with_their_toolkit_and_none_is_kept_for_one_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    cache.keep(&slot("ana", "books"), "key", "value").await;
    cache.keep(&slot("ana", "films"), "key", "value").await;

    cache.store.database().execute("DELETE FROM toolkits WHERE id = 'books'").await;

    let gone = cache.set(&slot("ana", "books"), "key", "value".into(), None).await;
    assert_eq!(gone, Ok(()), "its author has done nothing wrong");
    assert_eq!(cache.values(&slot("ana", "books")).await, 0);
    assert_eq!(cache.values(&slot("ana", "films")).await, 1);
}

#[tokio::test]
async fn clearing_removes_what_one_toolkit_keeps_for_one_user() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    for slot in [slot("ana", "books"), slot("ana", "films"), slot("ben", "books")] {
        cache.keep(&slot, "key", "value").await;
    }

    let cleared = cache.clear("ana", "books").await.unwrap();

    assert_eq!(cleared, CacheUsage { values: 1, bytes: 8 });
    assert_eq!(cache.clear("ana", "books").await.unwrap(), CacheUsage::default());
    assert_eq!(cache.value(&slot("ana", "books"), "key").await, None);
    for other in [slot("ana", "films"), slot("ben", "books")] {
        assert_eq!(cache.value(&other, "key").await.as_deref(), Some("value"));
    }
}

#[tokio::test]
async fn a_secret_that_changes_takes_with_it_what_was_cached_with_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let [ours, film, bens] = [slot("ana", "books"), slot("ana", "films"), slot("ben", "books")];
    let secret = SecretSlot {
        user: "ana".to_owned(),
        toolkit: "books".to_owned(),
        owner: "op".to_owned(),
        name: "API_KEY".to_owned(),
    };
    let by = Actor::server();
    let all = async || [cache.values(&ours).await, cache.values(&film).await, cache.values(&bens).await];
    let keep = async || {
        for slot in [&ours, &film, &bens] {
            cache.keep(slot, "key", "value").await;
        }
    };

    keep().await;
    cache.vault.set(&by, secret.clone(), &"first-value".into()).await.unwrap();
    assert_eq!(all().await, [0, 1, 1]);
    keep().await;
    assert!(!cache.vault.unset(&by, "ana", "books", "OTHER").await.unwrap());
    assert_eq!(all().await, [1, 1, 1]);
    assert!(cache.vault.unset(&by, "ana", "books", "API_KEY").await.unwrap());
    assert_eq!(all().await, [0, 1, 1]);
    keep().await;
    cache.vault.set_for_everyone(&by, secret, &"for-all".into(), EveryoneOptions::default()).await.unwrap();
    assert_eq!(all().await, [0, 1, 0]);
}

#[tokio::test]
async fn an_account_takes_what_was_cached_with_it_but_a_renewed_token_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    let by = Actor::server();
    let connected = |access_token: &str| {
        let tokens = Tokens {
            access_token: access_token.into(),
            refresh_token: None,
            expires_at: None,
            renew_at: None,
            scope: None,
        };
        Account { grants: Vec::new(), connected_at: 1, name: None, state: AccountState::Connected(tokens) }
    };

    cache.keep(&ours, "key", "with none").await;
    let first = connected("one");
    cache.vault.put_account(&by, SecretSlot::account("ana", "books", "op"), &first).await.unwrap();
    assert_eq!(cache.values(&ours).await, 0);

    cache.keep(&ours, "key", "with an account").await;
    cache.vault.replace_account("ana", "books", &first, &connected("two")).await.unwrap();
    assert_eq!(cache.value(&ours, "key").await.as_deref(), Some("with an account"));

    cache.vault.remove_account(&by, "ana", "books").await.unwrap().expect("there is one");
    assert_eq!(cache.values(&ours).await, 0);
}

#[tokio::test]
async fn a_rotation_leaves_nothing_that_the_former_key_opens() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path()).await;
    let ours = slot("ana", "books");
    cache.keep(&ours, "key", "value").await;
    let former = cache.vault.master_keys();

    cache.vault.rotate(&Actor::server()).await.unwrap();

    assert_ne!(cache.vault.master_keys(), former);
    assert_eq!(cache.values(&ours).await, 0);
    cache.keep(&ours, "key", "value").await;
    let keys: Vec<String> = cache.store.database().column("SELECT master_key FROM cached_values").await;
    assert_eq!(keys, cache.vault.master_keys()[..1]);
}

#[tokio::test]
async fn what_another_process_has_sealed_with_a_key_that_is_not_here_counts_as_gone() {
    let folder = tempfile::tempdir().unwrap();
    let ours = slot("ana", "books");
    let with = async |key: u8| {
        let vault = vault(folder.path(), KeySource::Text(hex::encode([key; 32]).into())).await;
        UserCache::new(Database::of_test(folder.path()).await, vault, Disk::unwatched())
    };
    with(1).await.keep(&ours, "key", "value").await;

    let other = with(2).await;

    assert_eq!(other.value(&ours, "key").await, None);
    other.keep(&ours, "key", "new").await;
    assert_eq!(other.value(&ours, "key").await.as_deref(), Some("new"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_keep_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let caches = [Arc::new(cache(folder.path()).await), Arc::new(cache(folder.path()).await)];
    let ours = slot("ana", "books");
    let calls: Vec<_> = (0..64)
        .map(|number: usize| {
            let cache = caches[number % 2].clone();
            let slot = ours.clone();
            tokio::spawn(async move {
                cache.keep(&slot, &number.to_string(), &"v".repeat(MAX_VALUE_BYTES)).await;
            })
        })
        .collect();
    for call in calls {
        call.await.expect("no deadlock");
    }

    let usage = caches[0].usage("ana", "books").await.unwrap();
    assert!(usage.bytes <= MAX_TOTAL_BYTES as u64 && usage.values == 15, "{usage:?}");
}
