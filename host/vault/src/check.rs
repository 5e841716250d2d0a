//! Checks whether secrets can be decrypted, for commands that inspect a database without a server.

use kitbag_database::{Database, EVERYONE};

use super::OpenError;
use super::account::ACCOUNT;
use super::master_key::{Creation, KeySource, MasterKeys};
use super::seal::SecretId;
use super::store::{Row, Store};

/// Number of records per batch.
const BATCH_ROWS: u32 = 500;
/// Maximum number of broken records that are named.
const MAX_EXAMPLES: usize = 20;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretsCheck {
    /// Number of secrets that can be decrypted.
    pub open: u64,
    /// Number of secrets that cannot be decrypted, although their master key is available.
    pub broken: u64,
    /// Descriptions of some broken secrets: name, user and toolkit.
    pub examples: Vec<String>,
    /// Names of missing master keys, each with the number of secrets encrypted with it.
    pub missing_keys: Vec<(String, u64)>,
}

/// Returns the names of the master keys with which the secrets of a database are encrypted.
pub async fn master_key_names(database: &Database) -> kitbag_database::Result<Vec<String>> {
    let used = Store::new(database.clone()).master_keys().await?;
    Ok(used.into_iter().map(|(name, _)| name).collect())
}

/// Tries to decrypt each secret of a database with the keys of `source`. Creates no key and changes nothing.
/// Fails if the keys cannot be read.
pub async fn check_secrets(database: &Database, source: &KeySource) -> Result<SecretsCheck, OpenError> {
    let keys = MasterKeys::load(source, Creation::Refused).await?;
    let store = Store::new(database.clone());
    let mut check = SecretsCheck::default();
    for (name, records) in store.master_keys().await? {
        if keys.named(&name).is_none() {
            check.missing_keys.push((name, u64::try_from(records).unwrap_or_default()));
        }
    }
    let mut last: Option<Row> = None;
    loop {
        let after = last.as_ref().map_or(SecretId { user: "", toolkit: "", name: "" }, Row::id);
        // Returns all records, as no key has an empty name.
        let mut rows = store.not_wrapped_by("", after, BATCH_ROWS).await?;
        for row in rows.iter().filter(|row| keys.named(&row.master_key).is_some()) {
            if row.open(&keys).is_ok() {
                check.open += 1;
                continue;
            }
            check.broken += 1;
            if check.examples.len() < MAX_EXAMPLES {
                check.examples.push(in_words(row.id()));
            }
        }
        last = rows.pop();
        if last.is_none() {
            return Ok(check);
        }
    }
}

fn in_words(SecretId { user, toolkit, name }: SecretId<'_>) -> String {
    match name {
        ACCOUNT => format!("the account of the user {user} for the toolkit {toolkit}"),
        _ if user == EVERYONE => format!("{name} of everyone for the toolkit {toolkit}"),
        _ => format!("{name} of the user {user} for the toolkit {toolkit}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kitbag_database::audit::Actor;

    use super::*;

    const TOOLKIT: &str =
        "INSERT INTO toolkit_versions VALUES ('books', '1.0.0', 'd', 1, '{}', '{}', '[]', 'op', 0);
        INSERT INTO toolkits VALUES ('books', 'op', '1.0.0');";

    /// Creates a database with a secret for each user.
    async fn with_secrets(data: &Path, users: &[&str]) -> (Database, KeySource) {
        let database = Database::open(data).await.expect("a database");
        database.execute(TOOLKIT).await;
        let source = KeySource::File(data.join("master-key"));
        let vault = super::super::Vault::open(database.clone(), source.clone()).await.expect("it opens");
        let vault = std::sync::Arc::new(vault);
        for user in users {
            let slot = super::super::SecretSlot {
                user: (*user).to_owned(),
                toolkit: "books".to_owned(),
                owner: "op".to_owned(),
                name: "API_KEY".to_owned(),
            };
            vault.set(&Actor::server(), slot, &"s3cr3t".into()).await.expect("it can be set");
        }
        (database, source)
    }

    #[tokio::test]
    async fn what_opens_what_is_broken_and_which_key_is_missing_are_told_apart() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let (database, source) = with_secrets(data.path(), &["ana", "ben", "cy"]).await;
        let key = master_key_names(&database).await.expect("they can be read");
        assert_eq!(check_secrets(&database, &source).await.expect("the key").open, 3);

        database.execute("UPDATE secrets SET sealed = x'00' WHERE user_id = 'ben'").await;
        let check = check_secrets(&database, &source).await.expect("the key");
        assert_eq!((check.open, check.broken, &check.missing_keys), (2, 1, &vec![]));
        assert_eq!(check.examples, ["API_KEY of the user ben for the toolkit books"]);

        let other = KeySource::Text(hex::encode([7; 32]).into());
        let check = check_secrets(&database, &other).await.expect("a key");
        assert_eq!((check.open, check.broken), (0, 0));
        assert_eq!(check.missing_keys, [(key[0].clone(), 3)]);
    }

    #[tokio::test]
    async fn a_missing_key_is_not_created() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::open(data.path()).await.expect("a database");
        let path = data.path().join("master-key");

        assert!(check_secrets(&database, &KeySource::File(path.clone())).await.is_err());

        assert!(!path.exists());
    }
}
