//! Tests of links from an attacker's view.

use kitbag_database::audit::Actor;

use super::*;
use crate::link::{CLOCK_MARGIN, PERIOD, now, seal};

const NAME: &str = "API_KEY";

fn of_una() -> SecretSlot {
    slot("una", "books", NAME)
}

/// Creates a process with these master keys.
async fn process(folder: &Path, keys: &str) -> Arc<Vault> {
    let source = KeySource::Text(keys.into());
    Arc::new(Vault::open(database(folder).await, source).await.expect("the vault opens"))
}

fn key(byte: u8) -> String {
    hex::encode([byte; 32])
}

impl Vault {
    async fn id(&self) -> String {
        self.link(&of_una()).await.expect("the database answers").expose_secret().to_owned()
    }

    fn opened(&self, id: &str) -> Option<Link> {
        self.open_link(id, "books", NAME)
    }

    async fn spent(&self, link: &Link) -> bool {
        self.is_spent(link).await.expect("the database answers")
    }

    /// Creates a link with this expiry, in seconds since 1970.
    fn expiring(&self, expires: i64) -> String {
        seal(self.keys.load().current(), &of_una(), 0, expires).expose_secret().to_owned()
    }
}

async fn spent_links(folder: &Path) -> i64 {
    let count: Vec<i64> = database(folder).await.column("SELECT COUNT(*) FROM spent_links").await;
    count[0]
}

#[tokio::test]
async fn a_link_is_good_once_on_any_process_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let one = process(folder.path(), &key(1)).await;
    let other = process(folder.path(), &key(1)).await;
    let id = one.id().await;
    assert_eq!(other.id().await, id, "whoever asks again gets the same");
    drop(one);
    let one = process(folder.path(), &key(1)).await;
    let link = other.opened(&id).expect("it is good");
    assert!(!one.spent(&link).await);

    other.set_by_link(&link, &"first-value".into()).await.unwrap();

    for vault in [&one, &other] {
        let link = vault.opened(&id).expect("it is whole");
        assert!(vault.spent(&link).await);
        let again = vault.set_by_link(&link, &"second-value".into()).await;
        assert!(matches!(again, Err(VaultError::LinkSpent)), "{again:?}");
        assert_ne!(vault.id().await, id, "nobody is given a link that was used");
    }
    let after = process(folder.path(), &key(1)).await;
    assert_eq!(after.value("una", "books", NAME).await.as_deref(), Some("first-value"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_forms_with_one_link_on_several_processes_one_sets_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let mut vaults = Vec::new();
    for _ in 0..4 {
        vaults.push(process(folder.path(), &key(1)).await);
    }
    let link = vaults[0].opened(&vaults[0].id().await).expect("it is good");

    let forms = (0..16).map(|number| {
        let vault = vaults[number % 4].clone();
        let link = link.clone();
        tokio::spawn(async move { vault.set_by_link(&link, &format!("value-{number}").into()).await.is_ok() })
    });
    let set = futures::future::join_all(forms).await;

    let winners: Vec<_> = (0..16).filter(|number| *set[*number].as_ref().expect("no panic")).collect();
    assert_eq!(winners.len(), 1);
    let after = process(folder.path(), &key(1)).await;
    assert_eq!(after.value("una", "books", NAME).await, Some(format!("value-{}", winners[0])));
}

#[tokio::test]
async fn an_expired_link_does_not_open_nor_one_that_would_be_good_for_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let vault = process(folder.path(), &key(1)).await;

    for expires in [i64::MIN, 0, now() - 1, now(), now() + 2 * PERIOD + CLOCK_MARGIN + 60, i64::MAX] {
        assert_eq!(vault.opened(&vault.expiring(expires)), None, "{expires}");
    }
    assert!(vault.opened(&vault.expiring(now() + 60)).is_some());
    let left = vault.opened(&vault.id().await).expect("it is good").once().expires - now();
    assert!((PERIOD - 5..=2 * PERIOD).contains(&left), "{left} s");
}

#[tokio::test]
async fn a_link_opens_with_the_key_that_made_it_as_long_as_a_server_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let before = process(folder.path(), &key(1)).await;
    let id = before.id().await;

    let stranger = process(folder.path(), &key(2)).await;
    let rotating = process(folder.path(), &format!("{},{}", key(2), key(1))).await;

    assert_eq!(stranger.opened(&id), None);
    assert_eq!(before.opened(&stranger.id().await), None);
    assert!(rotating.opened(&id).is_some());
    rotating.rotate(&Actor::server()).await.unwrap();
    let link = rotating.opened(&id).expect("the old key is still there");
    rotating.set_by_link(&link, &"s3cr3t-value".into()).await.unwrap();
    assert_eq!(stranger.value("una", "books", NAME).await.as_deref(), Some("s3cr3t-value"));
}

#[tokio::test]
async fn a_link_outlives_a_rotation_of_the_key_file_as_long_as_the_process_runs() {
    let folder = tempfile::tempdir().unwrap();
    let vault = vault(folder.path()).await;
    let id = vault.id().await;

    vault.rotate(&Actor::server()).await.unwrap();

    assert!(vault.opened(&id).is_some());
    assert_ne!(vault.id().await, id, "new links have the new key");
    assert_eq!(super::vault(folder.path()).await.opened(&id), None, "the old key is gone");
}

#[tokio::test]
async fn what_cannot_be_set_leaves_the_link_good() {
    let folder = tempfile::tempdir().unwrap();
    let vault = process(folder.path(), &key(1)).await;
    let link = vault.opened(&vault.id().await).expect("it is good");

    let long = "x".repeat(MAX_VALUE_BYTES + 1);
    for value in ["", &long] {
        let refused = vault.set_by_link(&link, &value.into()).await;
        assert!(matches!(refused, Err(VaultError::Refused(_))), "{refused:?}");
    }
    let number = MAX_BYTES_PER_USER / MAX_VALUE_BYTES;
    for other in 0..number {
        let full = "x".repeat(MAX_VALUE_BYTES).into();
        vault.set(&Actor::server(), slot("una", "films", &format!("KEY_{other}")), &full).await.unwrap();
    }
    let refused = vault.set_by_link(&link, &"s3cr3t-value".into()).await;
    assert!(matches!(refused, Err(VaultError::Refused(_))), "{refused:?}");
    assert!(!vault.spent(&link).await);

    vault.unset(&Actor::server(), "una", "films", "KEY_0").await.unwrap();
    vault.set_by_link(&link, &"s3cr3t-value".into()).await.unwrap();
}

#[tokio::test]
async fn a_link_is_for_the_toolkit_of_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let vault = process(folder.path(), &key(1)).await;
    let link = vault.opened(&vault.id().await).expect("it is good");
    vault.store.database().execute("UPDATE toolkits SET owner = 'ben' WHERE id = 'books'").await;

    let refused = vault.set_by_link(&link, &"s3cr3t-value".into()).await;

    assert!(matches!(refused, Err(VaultError::ToolkitChanged)), "{refused:?}");
    assert_eq!(vault.value("una", "books", NAME).await, None);
    assert_eq!(spent_links(folder.path()).await, 0);
}

#[tokio::test]
async fn used_links_are_forgotten_some_time_after_they_expire() {
    let folder = tempfile::tempdir().unwrap();
    let vault = process(folder.path(), &key(1)).await;
    let hash = |byte: u8| vec![byte; 32];
    let insert = "INSERT INTO spent_links (digest, expires) VALUES ($1, $2)";
    for (byte, expires) in [(1, now() - CLOCK_MARGIN - 60), (2, now() - CLOCK_MARGIN + 60), (3, now() + 60)] {
        vault.store.database().write(sql(insert).bind(hash(byte)).bind(expires)).await;
    }

    let link = vault.opened(&vault.id().await).expect("it is good");
    vault.set_by_link(&link, &"s3cr3t-value".into()).await.unwrap();

    let kept: Vec<Vec<u8>> = vault.store.database().column("SELECT digest FROM spent_links").await;
    assert_eq!(kept.len(), 3);
    assert!(!kept.contains(&hash(1)) && kept.contains(&hash(2)) && kept.contains(&hash(3)));
}
