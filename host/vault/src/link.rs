//! Links with which a user sets one secret. Nothing is stored for a link until it is used: its id contains
//! the target, encrypted with a key that is derived from a master key
//! ([why](../../../docs/decisions/0037-links-are-sealed.md)).
//!
//! ```text
//! id = base64url(expiry ‖ AES-256-GCM-SIV(user, owner, revision))     associated data: toolkit, name
//! ```
//!
//! Invariants:
//! - a link is valid for one secret of one user, for a toolkit of one owner, within ten minutes, and only on
//!   servers with the master key that it was made with;
//! - a link sets its secret once, on whichever process: its hash is stored in the transaction that does so.

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use kitbag_base::sha256::{Digest, Sha256};
use kitbag_database::audit::Actor;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

use super::account::Once;
use super::master_key::MasterKey;
use super::{EveryoneOptions, SecretSlot, Vault, VaultError};

/// Period in seconds within which requests for the same secret return the same link. A link expires at the
/// end of the next period: after more than five minutes, and at most ten.
pub(super) const PERIOD: i64 = 300;
/// Time in seconds for which the hash of a used link is stored after its expiry: clocks of processes differ.
pub(super) const CLOCK_MARGIN: i64 = 600;
/// Maximum length of an accepted id, in bytes: four times the length for the longest user names.
const MAX_ID_BYTES: usize = 4096;

/// A valid, decrypted link. Whether it was used before is recorded in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    slot: SecretSlot,
    digest: Digest,
    /// Expiry in seconds since 1970.
    expires: i64,
}

impl Link {
    /// Returns the slot of the secret that the link sets.
    pub fn slot(&self) -> &SecretSlot {
        &self.slot
    }

    /// Returns the start of the period in which the link was made, in milliseconds since 1970.
    pub fn made_since(&self) -> i64 {
        self.expires.saturating_sub(2 * PERIOD).saturating_mul(1000)
    }

    pub(super) fn once(&self) -> Once {
        Once { digest: self.digest, expires: self.expires }
    }
}

impl Vault {
    /// Returns the id of a link for this secret. It is the same for a while, so that an open page stays
    /// valid, and changes when a secret of the user has changed, as the link may have been used for that.
    pub async fn link(&self, slot: &SecretSlot) -> Result<SecretString, VaultError> {
        let revision = self.store.revision(&slot.user).await?;
        let expires = (now() / PERIOD + 2) * PERIOD;
        Ok(seal(self.keys.load().current(), slot, revision, expires))
    }

    /// Decrypts a link to the page of a secret; `None` if it was not made for that page with a master key of
    /// this server, or has expired.
    pub fn open_link(&self, id: &str, toolkit: &str, name: &str) -> Option<Link> {
        let link = self.keys.load().all().find_map(|key| open(key, id, toolkit, name))?;
        let left = link.expires.saturating_sub(now());
        (left > 0 && left <= 2 * PERIOD + CLOCK_MARGIN).then_some(link)
    }

    /// Returns whether a link was used.
    pub async fn is_spent(&self, link: &Link) -> Result<bool, VaultError> {
        Ok(self.store.is_spent(&link.digest).await?)
    }

    /// As [`set`](Self::set), but only once per link. A refused value does not use up the link.
    pub async fn set_by_link(self: &Arc<Self>, link: &Link, value: &SecretString) -> Result<(), VaultError> {
        let by = Actor::user_only(&link.slot.user);
        let options = EveryoneOptions::default();
        self.set_with(&by, link.slot.clone(), value, Some(link.once()), options).await
    }
}

/// Returns the time, in seconds since 1970, before which the hashes of expired links are no longer needed.
pub(super) fn forgotten_before() -> i64 {
    now() - CLOCK_MARGIN
}

pub(super) fn now() -> i64 {
    Timestamp::now().as_second()
}

pub(super) fn seal(master: &MasterKey, slot: &SecretSlot, revision: i64, expires: i64) -> SecretString {
    let revision = revision.to_be_bytes();
    let mut text = Zeroizing::new(parts(&[slot.user.as_bytes(), slot.owner.as_bytes(), &revision]));
    // The cipher is resistant to nonce reuse: equal inputs give equal bytes, and reveal nothing more.
    let nonce = nonce_of(expires);
    cipher(master)
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            associated(&slot.toolkit, &slot.name),
            &mut *text,
        )
        .expect("the text is shorter than the cipher's limit");
    BASE64_URL_SAFE_NO_PAD.encode([&nonce[..], &text].concat()).into()
}

fn open(master: &MasterKey, id: &str, toolkit: &str, name: &str) -> Option<Link> {
    if id.len() > MAX_ID_BYTES {
        return None;
    }
    let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(id).ok()?;
    let digest = Sha256::digest(&bytes);
    let (nonce, text) = bytes.split_at_mut_checked(NONCE_LEN)?;
    let nonce: [u8; NONCE_LEN] = (*nonce).try_into().ok()?;
    let (zeros, expires) = nonce.split_last_chunk()?;
    let text = cipher(master)
        .open_in_place(Nonce::assume_unique_for_key(nonce), associated(toolkit, name), text)
        .ok()?;
    let [user, owner, _revision] = read_parts(text)?;
    let slot = SecretSlot {
        user: String::from_utf8(user.to_vec()).ok()?,
        toolkit: toolkit.to_owned(),
        owner: String::from_utf8(owner.to_vec()).ok()?,
        name: name.to_owned(),
    };
    let is_whole = zeros.iter().all(|byte| *byte == 0);
    is_whole.then_some(Link { slot, digest, expires: i64::from_be_bytes(*expires) })
}

/// Derives the key for links. It differs from the master key, so neither decrypts what the other one has
/// encrypted.
fn cipher(master: &MasterKey) -> LessSafeKey {
    let derived = Salt::new(HKDF_SHA256, b"kitbag links 1").extract(master.bytes().as_slice());
    let key = derived.expand(&[b"AES-256-GCM-SIV"], &AES_256_GCM_SIV).expect("HKDF makes longer keys too");
    LessSafeKey::new(UnboundKey::from(key))
}

fn nonce_of(expires: i64) -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    nonce[NONCE_LEN - 8..].copy_from_slice(&expires.to_be_bytes());
    nonce
}

/// Returns the associated data: toolkit and name, which are in the page's path and therefore not in the id.
fn associated(toolkit: &str, name: &str) -> Aad<Vec<u8>> {
    Aad::from(parts(&[toolkit.as_bytes(), name.as_bytes()]))
}

/// Concatenates parts, each with a length prefix, so that they are unambiguous.
pub(super) fn parts(parts: &[&[u8]]) -> Vec<u8> {
    // With capacity for the tag: growing would leave a copy in memory.
    let length: usize = parts.iter().map(|part| part.len() + 4).sum();
    let mut bytes = Vec::with_capacity(length + AES_256_GCM_SIV.tag_len());
    for part in parts {
        let length = u32::try_from(part.len()).expect("names are short");
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

fn read_parts<const N: usize>(mut bytes: &[u8]) -> Option<[&[u8]; N]> {
    let mut parts = [&[][..]; N];
    for part in &mut parts {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        (*part, bytes) = rest.split_at_checked(length)?;
    }
    bytes.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::super::seal::random_key;
    use super::*;

    fn slot() -> SecretSlot {
        let [user, toolkit, owner, name] = ["ana", "weather", "olga", "API_KEY"].map(str::to_owned);
        SecretSlot { user, toolkit, owner, name }
    }

    fn master() -> MasterKey {
        MasterKey::new(random_key())
    }

    fn sealed(master: &MasterKey) -> String {
        seal(master, &slot(), 7, 1_000).expose_secret().to_owned()
    }

    #[test]
    fn a_link_opens_as_what_it_was_made_for() {
        let master = master();

        let link = open(&master, &sealed(&master), "weather", "API_KEY").expect("it opens");

        assert_eq!((link.slot, link.expires), (slot(), 1_000));
    }

    #[test]
    fn the_same_question_has_the_same_link_and_any_other_another_one() {
        let master = master();
        let changed = |change: &dyn Fn(&mut SecretSlot)| {
            let mut slot = slot();
            change(&mut slot);
            seal(&master, &slot, 7, 1_000).expose_secret().to_owned()
        };

        let id = sealed(&master);

        assert_eq!(id, sealed(&master));
        for other in [
            changed(&|slot| slot.user = "ben".to_owned()),
            changed(&|slot| slot.owner = "ben".to_owned()),
            changed(&|slot| slot.toolkit = "books".to_owned()),
            changed(&|slot| slot.name = "OTHER_KEY".to_owned()),
            seal(&master, &slot(), 8, 1_000).expose_secret().to_owned(),
            seal(&master, &slot(), 7, 1_001).expose_secret().to_owned(),
            sealed(&self::master()),
        ] {
            assert_ne!(id, other);
        }
    }

    #[test]
    fn a_link_that_was_altered_moved_or_made_elsewhere_does_not_open() {
        let master = master();
        let id = sealed(&master);
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&id).expect("it is base64url");

        for index in 0..bytes.len() {
            for bit in [1, 0x80] {
                let mut altered = bytes.clone();
                altered[index] ^= bit;
                let altered = BASE64_URL_SAFE_NO_PAD.encode(altered);
                assert_eq!(open(&master, &altered, "weather", "API_KEY"), None, "byte {index}");
            }
        }
        for length in 0..bytes.len() {
            let cut = BASE64_URL_SAFE_NO_PAD.encode(&bytes[..length]);
            assert_eq!(open(&master, &cut, "weather", "API_KEY"), None, "{length} bytes");
        }
        for (toolkit, name) in [("books", "API_KEY"), ("weather", "OTHER"), ("weatherA", "PI_KEY"), ("", "")]
        {
            assert_eq!(open(&master, &id, toolkit, name), None, "{toolkit} {name}");
        }
        for forged in
            [format!("{id}="), format!("{id}A"), format!(" {id}"), "A".repeat(5_000), "-".to_owned()]
        {
            assert_eq!(open(&master, &forged, "weather", "API_KEY"), None, "{forged}");
        }
        assert_eq!(open(&self::master(), &id, "weather", "API_KEY"), None, "another server's key");
    }

    #[test]
    fn an_id_names_nobody() {
        let master = master();
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(sealed(&master)).expect("it is base64url");

        for name in ["ana", "olga"] {
            assert!(!bytes.windows(name.len()).any(|window| window == name.as_bytes()));
        }
    }

    #[test]
    fn what_the_master_key_seals_is_no_link_and_a_link_is_no_secret() {
        let (master, id) = (master(), sealed(&master()));
        let secret = super::super::seal::seal(&master, slot().id(), &"s3cr3t".into());

        for bytes in [secret.value, secret.wrapped_key] {
            let id = BASE64_URL_SAFE_NO_PAD.encode(bytes);
            assert_eq!(open(&master, &id, "weather", "API_KEY"), None);
        }
        let value = BASE64_URL_SAFE_NO_PAD.decode(id).expect("it is base64url");
        let sealed = super::super::seal::Sealed { wrapped_key: value.clone(), value };
        assert!(super::super::seal::open(&master, slot().id(), &sealed).is_err());
    }

    #[test]
    fn the_path_to_a_page_with_the_longest_names_fits_the_cookie_of_a_sign_in() {
        let slot = SecretSlot { user: "u".repeat(255), owner: "o".repeat(255), ..slot() };

        // Its limit is 1200 bytes for the whole path.
        assert!(seal(&master(), &slot, i64::MAX, i64::MAX).expose_secret().len() < 800);
    }
}
