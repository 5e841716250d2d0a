//! State of a pending sign-in, stored in a cookie of the browser and encrypted with the vault's master key.
//!
//! Anybody can begin a sign-in; without state in the server, that neither fills memory nor evicts the
//! sign-ins of others. A pending sign-in survives a restart and can be completed on any process.

use jiff::Timestamp;
use kitbag_vault::{Once, SealedValue, Vault};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::ProviderSignIn;

/// Maximum length of the return path, in bytes; a cookie may have 4096 bytes in total.
const MAX_PATH_BYTES: usize = 1200;
/// Maximum length of an accepted cookie, in bytes.
const MAX_COOKIE_BYTES: usize = 4096;
/// Encryption context in the vault.
const PURPOSE: &str = "pending sign-in of a browser";

/// State that the callback needs from the begin of the sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) state: String,
    /// PKCE code verifier.
    pub(super) verifier: String,
    /// Path to redirect to after the sign-in.
    pub(super) to: String,
    /// Expiry in seconds since 1970.
    expires: i64,
}

impl Pending {
    pub(super) fn new(state: String, verifier: String, to: &str) -> Self {
        let to = if to.len() > MAX_PATH_BYTES { "/ui/" } else { to };
        let expires = Timestamp::now().as_second() + ProviderSignIn::PENDING_LIFETIME.as_secs().cast_signed();
        Self { state, verifier, to: to.to_owned(), expires }
    }

    /// Time at which the sign-in began, to the second.
    pub(super) fn began(&self) -> Timestamp {
        let began = self.expires - ProviderSignIn::PENDING_LIFETIME.as_secs().cast_signed();
        Timestamp::from_second(began).unwrap_or(Timestamp::MIN)
    }

    /// Record that the sign-in has been completed.
    pub(super) fn once(&self) -> Once {
        Once::new(&format!("sign-in {}", self.state), self.expires)
    }

    /// Encrypts the state as the value of a cookie.
    pub(super) fn seal(&self, vault: &Vault) -> SecretString {
        let text = serde_json::to_string(self).expect("texts and a number are JSON");
        vault.seal_value(PURPOSE, "", &text.into()).to_word().into()
    }

    /// Decrypts the value of a cookie; `None` if it is invalid or expired.
    pub(super) fn open(vault: &Vault, cookie: &str) -> Option<Self> {
        let sealed = SealedValue::from_word(cookie).filter(|_| cookie.len() <= MAX_COOKIE_BYTES)?;
        let text = vault.open_value(PURPOSE, "", &sealed)?;
        let pending: Self = serde_json::from_str(text.expose_secret()).ok()?;
        (Timestamp::now().as_second() < pending.expires).then_some(pending)
    }
}

#[cfg(test)]
mod tests {
    use kitbag_database::Database;
    use kitbag_vault::KeySource;

    use super::*;

    fn pending() -> Pending {
        Pending::new("state".to_owned(), "verifier".to_owned(), "/ui/account")
    }

    async fn vault(key: u8) -> Vault {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(data.path()).await;
        Vault::open(database, KeySource::Text(hex::encode([key; 32]).into())).await.expect("the vault opens")
    }

    #[tokio::test]
    async fn a_cookie_opens_on_every_process_with_the_master_key_and_not_for_ever() {
        let (vault, beside, stranger) = (vault(1).await, vault(1).await, vault(2).await);
        let cookie = pending().seal(&vault);
        let cookie = cookie.expose_secret();

        for vault in [&vault, &beside] {
            assert_eq!(
                Pending::open(vault, cookie).map(|pending| pending.to).as_deref(),
                Some("/ui/account")
            );
        }
        assert_eq!(Pending::open(&stranger, cookie), None);
        let mut changed = cookie.to_owned();
        let last = if changed.pop() == Some('A') { 'Q' } else { 'A' };
        changed.push(last);
        let of_another_purpose = vault.seal_value("refresh token", "", &"{}".into()).to_word();
        for other in ["", "x", "AAAA", "..", changed.as_str(), &of_another_purpose] {
            assert_eq!(Pending::open(&vault, other), None, "{other:?}");
        }
        let late = Pending { expires: Timestamp::now().as_second(), ..pending() };
        assert_eq!(Pending::open(&vault, late.seal(&vault).expose_secret()), None);
    }

    #[tokio::test]
    async fn a_cookie_is_as_short_as_browsers_keep() {
        let long = Pending::new("s".repeat(22), "v".repeat(43), &format!("/ui/{}", "x".repeat(5000)));
        assert_eq!(long.to, "/ui/");

        let longest = Pending::new("s".repeat(22), "v".repeat(43), &"\"".repeat(MAX_PATH_BYTES));
        let cookie = longest.seal(&vault(1).await);
        assert!(cookie.expose_secret().len() < MAX_COOKIE_BYTES && !cookie.expose_secret().contains("state"));
    }
}
