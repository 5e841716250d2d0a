//! A sign-in between its two halves: kept by the browser that has begun it, sealed.
//!
//! Anybody can begin a sign-in, and nobody fills the server's memory with it, or pushes out those of others.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::ProviderSignIn;

/// Longest path that a browser comes back to, in bytes: cookies may have 4096 in total.
const MAX_PATH_BYTES: usize = 1200;
/// What else is sealed with the same cipher has other associated data.
const ASSOCIATED: &[u8] = b"kitbag pending sign-in 1";

/// What the second half of a sign-in needs to know about the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) state: String,
    /// Of PKCE.
    pub(super) verifier: String,
    /// The path to go to afterwards.
    pub(super) to: String,
    /// In seconds since 1970.
    expires: i64,
}

/// The key of this process: a restart ends the sign-ins that are pending.
pub(super) struct PendingSeal(RandomizedNonceKey);

impl Pending {
    pub(super) fn new(state: String, verifier: String, to: &str) -> Self {
        let to = if to.len() > MAX_PATH_BYTES { "/ui/" } else { to };
        let expires = Timestamp::now().as_second() + ProviderSignIn::PENDING_LIFETIME.as_secs().cast_signed();
        Self { state, verifier, to: to.to_owned(), expires }
    }
}

impl PendingSeal {
    pub(super) fn new() -> Self {
        let mut key = [0; 32];
        aws_lc_rs::rand::fill(&mut key).expect("the system has random numbers");
        Self(RandomizedNonceKey::new(&AES_256_GCM, &key).expect("the key has the cipher's length"))
    }

    /// Seals a pending sign-in, as the value of a cookie.
    pub(super) fn seal(&self, pending: &Pending) -> SecretString {
        let mut text = serde_json::to_vec(pending).expect("texts and a number are JSON");
        let sealed = self.0.seal_in_place_append_tag(Aad::from(ASSOCIATED), &mut text);
        let nonce = sealed.expect("the text is shorter than the cipher's limit");
        URL_SAFE_NO_PAD.encode([nonce.as_ref().as_slice(), &text].concat()).into()
    }

    /// Opens what this process has sealed, unless its time is over.
    pub(super) fn open(&self, cookie: &str) -> Option<Pending> {
        let bytes = URL_SAFE_NO_PAD.decode(cookie).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let text = self.0.open_in_place(nonce, Aad::from(ASSOCIATED), &mut text).ok()?;
        let pending: Pending = serde_json::from_slice(text).ok()?;
        (Timestamp::now().as_second() < pending.expires).then_some(pending)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn pending() -> Pending {
        Pending::new("state".to_owned(), "verifier".to_owned(), "/ui/account")
    }

    #[test]
    fn only_what_this_process_has_sealed_opens_and_not_for_ever() {
        let seal = PendingSeal::new();
        let cookie = seal.seal(&pending());
        let cookie = cookie.expose_secret();

        assert_eq!(seal.open(cookie).map(|pending| pending.to).as_deref(), Some("/ui/account"));
        assert_eq!(PendingSeal::new().open(cookie), None);
        let mut changed = cookie.to_owned();
        let last = if changed.pop() == Some('A') { 'Q' } else { 'A' };
        changed.push(last);
        for other in ["", "x", "AAAA", changed.as_str()] {
            assert_eq!(seal.open(other), None, "{other:?}");
        }
        let late = Pending { expires: Timestamp::now().as_second(), ..pending() };
        assert_eq!(seal.open(seal.seal(&late).expose_secret()), None);
    }

    #[test]
    fn a_cookie_is_as_short_as_browsers_keep() {
        let long = Pending::new("s".repeat(22), "v".repeat(43), &format!("/ui/{}", "x".repeat(5000)));
        assert_eq!(long.to, "/ui/");

        let longest = Pending::new("s".repeat(22), "v".repeat(43), &"\"".repeat(MAX_PATH_BYTES));
        let cookie = PendingSeal::new().seal(&longest);
        assert!(cookie.expose_secret().len() < 4096 && !cookie.expose_secret().contains("state"));
    }
}
