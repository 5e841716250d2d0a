//! Re-encryption of secrets for users whose ids change when a whole service is copied.

use super::master_key::{Creation, KeySource, MasterKeyError, MasterKeys};
use super::seal::{self, Sealed, SecretId};
use super::sealed_value::SealedValue;

/// Re-encrypts secrets for other user ids. Decrypted values are in memory only during an operation.
pub struct Resealing(MasterKeys);

impl Resealing {
    /// Reads the master keys, which have to decrypt all secrets. Creates none.
    pub async fn load(source: &KeySource) -> Result<Self, MasterKeyError> {
        MasterKeys::load(source, Creation::Refused).await.map(Self)
    }

    /// Re-encrypts a secret of the user `before` for the user `after`; `None` if it cannot be decrypted.
    pub fn reseal(
        &self,
        [before, after]: [&str; 2],
        toolkit: &str,
        name: &str,
        sealed: SealedValue,
    ) -> Option<SealedValue> {
        let id = SecretId { user: before, toolkit, name };
        let SealedValue { master_key, wrapped_key, value } = sealed;
        let value = seal::open(self.0.named(&master_key)?, id, &Sealed { wrapped_key, value }).ok()?;
        let Sealed { wrapped_key, value } =
            seal::seal(self.0.current(), SecretId { user: after, ..id }, &value);
        Some(SealedValue { master_key: self.0.current().name().to_owned(), wrapped_key, value })
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[tokio::test]
    async fn a_secret_opens_for_the_new_id_alone_and_with_the_first_key() {
        let text = |keys: &[u8]| keys.iter().map(|key| hex::encode([*key; 32]) + "\n").collect::<String>();
        let old = MasterKeys::load(&KeySource::Text(text(&[1]).into()), Creation::Refused).await;
        let old = old.expect("a key");
        let id = SecretId { user: "local", toolkit: "books", name: "API_KEY" };
        let Sealed { wrapped_key, value } = seal::seal(old.current(), id, &"s3cr3t".into());
        let sealed = SealedValue { master_key: old.current().name().to_owned(), wrapped_key, value };
        let resealing = Resealing::load(&KeySource::Text(text(&[2, 1]).into())).await.expect("keys");

        let after = resealing.reseal(["local", "ana"], "books", "API_KEY", sealed.clone());

        let SealedValue { master_key, wrapped_key, value } = after.expect("it opens");
        assert_eq!(&master_key, resealing.0.current().name());
        let resealed = Sealed { wrapped_key, value };
        let open = |user| seal::open(resealing.0.current(), SecretId { user, ..id }, &resealed);
        assert_eq!(open("ana").expect("it opens").expose_secret(), "s3cr3t");
        assert!(open("local").is_err());
        assert!(resealing.reseal(["una", "ana"], "books", "API_KEY", sealed.clone()).is_none());
        let other = Resealing::load(&KeySource::Text(text(&[2]).into())).await.expect("a key");
        assert!(other.reseal(["local", "ana"], "books", "API_KEY", sealed).is_none());
    }
}
