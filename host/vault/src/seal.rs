//! Encrypts one record: AES-256-GCM with a key of its own, which is wrapped by the master key.
//!
//! Both layers have the record's identity as associated data: a row that is copied to another user,
//! toolkit or name cannot be decrypted there.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::rand;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::master_key::MasterKey;

/// Length of every key, in bytes.
pub(super) const KEY_LENGTH: usize = 32;

/// A key that is zeroed in memory when dropped.
pub(super) type Key = Zeroizing<[u8; KEY_LENGTH]>;

/// Identity of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SecretId<'a> {
    pub(super) user: &'a str,
    pub(super) toolkit: &'a str,
    pub(super) name: &'a str,
}

/// An encrypted value, as stored in the database.
pub(super) struct Sealed {
    /// Nonce, the record's encrypted key, tag.
    pub(super) wrapped_key: Vec<u8>,
    /// Nonce, encrypted value, tag.
    pub(super) value: Vec<u8>,
}

/// Error: the bytes were not encrypted as this secret with this key.
#[derive(Debug)]
pub(super) struct Broken;

/// Encrypts `value` as the secret `id`.
pub(super) fn seal(master: &MasterKey, id: SecretId<'_>, value: &SecretString) -> Sealed {
    let key = random_key();
    Sealed {
        wrapped_key: wrap(master, id, &key),
        value: encrypt(&key, id.associated("value"), value.expose_secret().as_bytes()),
    }
}

/// Decrypts a value that was encrypted as the secret `id`.
pub(super) fn open(master: &MasterKey, id: SecretId<'_>, sealed: &Sealed) -> Result<SecretString, Broken> {
    let key = unwrap(master, id, &sealed.wrapped_key)?;
    let value = decrypt(&key, id.associated("value"), &sealed.value)?;
    std::str::from_utf8(&value).map(SecretString::from).map_err(|_| Broken)
}

/// Wraps a record's key with `new` instead of `old`. The encrypted value does not change.
pub(super) fn rewrap(
    old: &MasterKey,
    new: &MasterKey,
    id: SecretId<'_>,
    wrapped_key: &[u8],
) -> Result<Vec<u8>, Broken> {
    Ok(wrap(new, id, &unwrap(old, id, wrapped_key)?))
}

/// Generates a key.
pub(super) fn random_key() -> Key {
    let mut key = Key::default();
    rand::fill(key.as_mut()).expect("the system has random numbers");
    key
}

fn wrap(master: &MasterKey, id: SecretId<'_>, key: &Key) -> Vec<u8> {
    encrypt(master.bytes(), id.associated("key"), key.as_slice())
}

fn unwrap(master: &MasterKey, id: SecretId<'_>, wrapped: &[u8]) -> Result<Key, Broken> {
    let bytes = decrypt(master.bytes(), id.associated("key"), wrapped)?;
    let mut key = Key::default();
    if bytes.len() != KEY_LENGTH {
        return Err(Broken);
    }
    key.copy_from_slice(&bytes);
    Ok(key)
}

/// Encrypts, and returns nonce, ciphertext and tag. Nonces are random: a record's key encrypts once, and a
/// master key would have to wrap billions of keys before a nonce repeats (NIST SP 800-38D, section 8.3).
fn encrypt(key: &Key, associated: Vec<u8>, plain: &[u8]) -> Vec<u8> {
    // With capacity for the tag: growing would leave a copy of the plain text in memory.
    let mut text = Vec::with_capacity(plain.len() + AES_256_GCM.tag_len());
    text.extend_from_slice(plain);
    let nonce = cipher(key)
        .seal_in_place_append_tag(Aad::from(associated), &mut text)
        .expect("the text is shorter than the cipher's limit");
    [nonce.as_ref().as_slice(), &text].concat()
}

fn decrypt(key: &Key, associated: Vec<u8>, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Broken> {
    let (nonce, text) = bytes.split_at_checked(NONCE_LEN).ok_or(Broken)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Broken)?;
    let mut text = Zeroizing::new(text.to_vec());
    let length = cipher(key)
        .open_in_place(nonce, Aad::from(associated), text.as_mut_slice())
        .map_err(|_| Broken)?
        .len();
    text.truncate(length);
    Ok(text)
}

fn cipher(key: &Key) -> RandomizedNonceKey {
    RandomizedNonceKey::new(&AES_256_GCM, key.as_slice()).expect("the key has the cipher's length")
}

impl SecretId<'_> {
    /// Returns the associated data of a layer. Each part has a length prefix, so that the parts are
    /// unambiguous.
    fn associated(self, layer: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in ["kitbag vault 1", layer, self.user, self.toolkit, self.name] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: SecretId<'_> = SecretId { user: "ana", toolkit: "books", name: "API_KEY" };

    fn master() -> MasterKey {
        MasterKey::new(random_key())
    }

    #[test]
    fn what_was_sealed_opens_as_the_same_secret() {
        let master = master();

        let sealed = seal(&master, ID, &"s3cr3t".into());

        assert_eq!(open(&master, ID, &sealed).expect("it opens").expose_secret(), "s3cr3t");
    }

    #[test]
    fn a_row_that_is_copied_elsewhere_does_not_open() {
        let master = master();
        let sealed = seal(&master, ID, &"s3cr3t".into());

        for elsewhere in [
            SecretId { user: "eve", ..ID },
            SecretId { toolkit: "films", ..ID },
            SecretId { name: "OTHER", ..ID },
            // The same letters, split differently.
            SecretId { user: "anab", toolkit: "ooks", ..ID },
        ] {
            assert!(open(&master, elsewhere, &sealed).is_err(), "{elsewhere:?}");
        }
    }

    #[test]
    fn another_key_and_changed_bytes_do_not_open() {
        let right = master();
        let sealed = seal(&right, ID, &"s3cr3t".into());

        assert!(open(&master(), ID, &sealed).is_err());
        for index in 0..sealed.value.len() {
            let mut value = sealed.value.clone();
            value[index] ^= 1;
            let changed = Sealed { wrapped_key: sealed.wrapped_key.clone(), value };
            assert!(open(&right, ID, &changed).is_err(), "byte {index}");
        }
        for length in 0..=NONCE_LEN {
            let cut =
                Sealed { wrapped_key: sealed.wrapped_key[..length].to_vec(), value: sealed.value.clone() };
            assert!(open(&right, ID, &cut).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_rewrapped_record_opens_with_the_new_key_alone() {
        let old = master();
        let new = master();
        let sealed = seal(&old, ID, &"s3cr3t".into());

        let wrapped_key = rewrap(&old, &new, ID, &sealed.wrapped_key).expect("it is whole");
        let rewrapped = Sealed { wrapped_key, ..sealed };

        assert_eq!(open(&new, ID, &rewrapped).expect("it opens").expose_secret(), "s3cr3t");
        assert!(open(&old, ID, &rewrapped).is_err());
    }

    #[test]
    fn the_same_value_never_looks_the_same() {
        let master = master();

        let first = seal(&master, ID, &"s3cr3t".into());
        let second = seal(&master, ID, &"s3cr3t".into());

        assert_ne!(first.value, second.value);
        assert_ne!(first.wrapped_key, second.wrapped_key);
    }
}
