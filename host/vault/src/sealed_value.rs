//! Values that other parts of the server store in their own tables, encrypted like secrets.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use secrecy::SecretString;

use super::Vault;
use super::seal::{self, Sealed, SecretId};

/// A value encrypted by [`Vault::seal_value`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedValue {
    /// Name of the master key.
    pub master_key: String,
    /// The value's own key, wrapped by the master key.
    pub wrapped_key: Vec<u8>,
    /// The value, encrypted.
    pub value: Vec<u8>,
}

impl SealedValue {
    /// Encodes the value as one word for a cookie or a URL.
    pub fn to_word(&self) -> String {
        let encode = |bytes| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        format!("{}.{}.{}", self.master_key, encode(&self.wrapped_key), encode(&self.value))
    }

    /// Decodes a word; `None` if it is not an encrypted value.
    pub fn from_word(word: &str) -> Option<Self> {
        let decode = |text| BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let (master_key, rest) = word.split_once('.')?;
        let (wrapped_key, value) = rest.split_once('.')?;
        let master_key = master_key.to_owned();
        Some(Self { master_key, wrapped_key: decode(wrapped_key)?, value: decode(value)? })
    }
}

impl Vault {
    /// Encrypts a value that can be decrypted only for the same `purpose` and `id`.
    ///
    /// Its key is not rewrapped when the master key is rotated: if the server manages the keys, the value can
    /// be decrypted until the next restart only. Therefore use this for values that can be obtained again.
    pub fn seal_value(&self, purpose: &str, id: &str, value: &SecretString) -> SealedValue {
        let keys = self.keys.load_full();
        let Sealed { wrapped_key, value } = seal::seal(keys.current(), identity(purpose, id), value);
        SealedValue { master_key: keys.current().name().to_owned(), wrapped_key, value }
    }

    /// Decrypts a value; `None` if it was encrypted for another purpose or id, or its master key is no longer
    /// available.
    pub fn open_value(&self, purpose: &str, id: &str, sealed: &SealedValue) -> Option<SecretString> {
        let keys = self.keys.load_full();
        let SealedValue { master_key, wrapped_key, value } = sealed.clone();
        seal::open(keys.named(&master_key)?, identity(purpose, id), &Sealed { wrapped_key, value }).ok()
    }
}

/// Returns an identity that no secret has, as the toolkit id is empty.
fn identity<'a>(purpose: &'a str, id: &'a str) -> SecretId<'a> {
    SecretId { user: id, toolkit: "", name: purpose }
}

#[cfg(test)]
mod tests {
    use kitbag_database::Database;
    use secrecy::ExposeSecret;

    use super::*;
    use crate::KeySource;

    #[tokio::test]
    async fn a_value_opens_for_its_purpose_and_id_alone() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(data.path()).await;
        let vault = Vault::open(database, KeySource::File(data.path().join("master-key"))).await;
        let vault = vault.expect("the vault opens");

        let sealed = vault.seal_value("refresh token", "one", &"t0ken".into());

        let open = |purpose, id, sealed: &SealedValue| {
            vault.open_value(purpose, id, sealed).map(|value| value.expose_secret().to_owned())
        };
        assert_eq!(open("refresh token", "one", &sealed).as_deref(), Some("t0ken"));
        assert_eq!(open("refresh token", "two", &sealed), None);
        assert_eq!(open("access token", "one", &sealed), None);
        let of_another_key = SealedValue { master_key: "0123456789abcdef".to_owned(), ..sealed.clone() };
        assert_eq!(open("refresh token", "one", &of_another_key), None);
        assert!(!sealed.value.windows(5).any(|bytes| bytes == b"t0ken"));

        let word = sealed.to_word();
        assert_eq!(SealedValue::from_word(&word), Some(sealed));
        for other in ["", ".", "..=", "a.b", &format!("{word}."), &format!("{word}=")] {
            assert_eq!(SealedValue::from_word(other), None, "{other}");
        }
    }
}
