//! Encrypted states that clients return with a later request. Only servers with the same master key can read
//! or create them; each is bound to its context by associated data.
//!
//! ```text
//! state = base64url(nonce ‖ AES-256-GCM-SIV(expiry ‖ text))     associated data: the context
//! ```

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::Vault;
use super::link::{now, parts};
use super::master_key::MasterKey;

/// Maximum length of an accepted state, in bytes: all answers of a call, as base64.
const MAX_STATE_BYTES: usize = 256 << 10;

impl Vault {
    /// Encrypts a text that is valid for `seconds`, and can be decrypted only with the same `bound_to`.
    pub fn seal_state(&self, text: &[u8], bound_to: &[&[u8]], seconds: i64) -> String {
        seal(self.keys.load().current(), text, bound_to, now() + seconds)
    }

    /// Decrypts a state; `None` if it was not created with a master key of this server, is bound to another
    /// context, or has expired.
    pub fn open_state(&self, state: &str, bound_to: &[&[u8]]) -> Option<Vec<u8>> {
        if state.len() > MAX_STATE_BYTES {
            return None;
        }
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(state).ok()?;
        self.keys.load().all().find_map(|key| open(key, &sealed, bound_to, now()))
    }
}

fn seal(master: &MasterKey, text: &[u8], bound_to: &[&[u8]], expires: i64) -> String {
    let mut nonce = [0; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut nonce).expect("the system has random numbers");
    let mut sealed = [&expires.to_be_bytes(), text].concat();
    cipher(master)
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(parts(bound_to)),
            &mut sealed,
        )
        .expect("the text is shorter than the cipher's limit");
    BASE64_URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat())
}

fn open(master: &MasterKey, sealed: &[u8], bound_to: &[&[u8]], now: i64) -> Option<Vec<u8>> {
    let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
    let mut text = text.to_vec();
    let opened = cipher(master)
        .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(parts(bound_to)), &mut text)
        .ok()?;
    let (expires, text) = opened.split_first_chunk()?;
    (i64::from_be_bytes(*expires) > now).then(|| text.to_vec())
}

/// Derives the key for states. It differs from the master key and from the key for links, so none of them
/// decrypts what another one has encrypted.
fn cipher(master: &MasterKey) -> LessSafeKey {
    let derived = Salt::new(HKDF_SHA256, b"kitbag states 1").extract(master.bytes().as_slice());
    let key = derived.expand(&[b"AES-256-GCM-SIV"], &AES_256_GCM_SIV).expect("HKDF makes longer keys too");
    LessSafeKey::new(UnboundKey::from(key))
}

#[cfg(test)]
mod tests {
    use super::super::seal::random_key;
    use super::*;

    fn opened(master: &MasterKey, state: &str, bound_to: &[&[u8]], now: i64) -> Option<Vec<u8>> {
        open(master, &BASE64_URL_SAFE_NO_PAD.decode(state).expect("base64"), bound_to, now)
    }

    #[test]
    fn a_state_opens_for_what_it_is_bound_to_until_it_expires() {
        let master = MasterKey::new(random_key());
        let state = seal(&master, b"yes", &[b"ana", b"weather"], 1_000);

        assert_eq!(opened(&master, &state, &[b"ana", b"weather"], 999).as_deref(), Some(&b"yes"[..]));
        assert_eq!(opened(&master, &state, &[b"ana", b"weather"], 1_000), None);
        for other in [&[&b"ben"[..], b"weather"][..], &[b"anaw", b"eather"], &[b"ana"], &[]] {
            assert_eq!(opened(&master, &state, other, 0), None);
        }
        assert_eq!(opened(&MasterKey::new(random_key()), &state, &[b"ana", b"weather"], 0), None);
    }

    #[test]
    fn no_bit_of_a_state_can_be_changed() {
        let master = MasterKey::new(random_key());
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(seal(&master, b"yes", &[b"ana"], 1_000)).expect("base64");
        assert!(open(&master, &sealed, &[b"ana"], 0).is_some());

        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&master, &changed, &[b"ana"], 0), None, "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert_eq!(open(&master, &sealed[..length], &[b"ana"], 0), None);
        }
    }
}
