//! Accounts connected by users: tokens of a user for the API of one toolkit.
//!
//! An account is an encrypted row beside the user's secrets, under a name that no secret can have. Key
//! rotation, service copies and take-overs of toolkits therefore treat both alike.
//!
//! Invariants:
//! - a token is never given to a guest, and leaves the vault only to be attached, renewed or revoked, and once to ask the API
//!   whose account it is;
//! - one process at a time renews the tokens of an account: providers revoke all of them when a refresh token
//!   is used twice (RFC 9700, section 4.14.2);
//! - new tokens are stored before they are used.

use std::sync::Arc;

use kitbag_base::sha256::{Digest, Sha256};
use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::{Act, Actor, Entry};
use kitbag_manifest::OAuth2AuthorizationCode;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use tracing::info;

use super::master_key::MasterKeys;
use super::seal::SecretId;
use super::store::{Row, Write};
use super::{EveryoneOptions, MAX_ACCOUNTS_PER_USER, SecretSlot, Vault, VaultError, log_broken, seal};

/// Reserved name of the rows of accounts.
pub(super) const ACCOUNT: &str = "@account";

/// Account of a user for one toolkit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    /// The toolkit's grants as declared when the user agreed. The account is valid for these only.
    pub grants: Vec<OAuth2AuthorizationCode>,
    /// Time of connection, in seconds since 1970.
    pub connected_at: i64,
    /// Name of the account at its provider, if it has said one: text for people, of bounded length and without control
    /// characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Connection state.
    pub state: AccountState,
}

/// State of an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum AccountState {
    /// Usable, with these tokens.
    Connected(Tokens),
    /// Unusable until the user connects the account again.
    Ended {
        /// Reason, as a clause such as `the provider has ended it`.
        reason: String,
    },
}

/// Tokens granted by a provider (RFC 6749, section 5.1).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tokens {
    /// Access token, attached to requests to the API.
    #[serde(serialize_with = "expose")]
    pub access_token: SecretString,
    /// Refresh token, if the provider issued one.
    #[serde(serialize_with = "expose_some")]
    pub refresh_token: Option<SecretString>,
    /// Expiry of the access token, in seconds since 1970; `None` if it is valid until the API refuses it.
    pub expires_at: Option<i64>,
    /// Time from which the access token is renewed, in seconds since 1970: shortly before its expiry.
    pub renew_at: Option<i64>,
    /// Granted scopes, separated by spaces; `None` if the provider did not say: as requested (RFC 6749,
    /// section 5.1).
    pub scope: Option<String>,
}

/// Record of a single-use link or state: its hash. Stored when it is used, so that it cannot be used again.
#[derive(Clone, Debug)]
pub struct Once {
    pub(super) digest: Digest,
    /// Expiry in seconds since 1970, after which the link or state itself is no longer accepted.
    pub(super) expires: i64,
}

impl Once {
    /// Creates the record of a link or state that is valid until `expires`, in seconds since 1970.
    pub fn new(thing: &str, expires: i64) -> Self {
        Self { digest: Sha256::digest(thing), expires }
    }
}

impl SecretSlot {
    /// Creates the slot of a user's account for a toolkit of this owner.
    pub fn account(user: &str, toolkit: &str, owner: &str) -> Self {
        let [user, toolkit, owner, name] = [user, toolkit, owner, ACCOUNT].map(str::to_owned);
        Self { user, toolkit, owner, name }
    }
}

impl Account {
    /// Returns the name of the account at its provider, while it is connected.
    pub fn name(&self) -> Option<&str> {
        match self.state {
            AccountState::Connected(_) => self.name.as_deref(),
            AccountState::Ended { .. } => None,
        }
    }

    /// Returns why the account is not good for these grants, as a clause; `None` if they are those for which
    /// it was connected.
    pub fn misfit(&self, grants: &[OAuth2AuthorizationCode]) -> Option<&'static str> {
        let sign_in = |grants: &[OAuth2AuthorizationCode]| -> Vec<_> {
            grants.iter().map(OAuth2AuthorizationCode::without_account_name).collect()
        };
        let without_scopes = |grants: &[OAuth2AuthorizationCode]| -> Vec<_> {
            let grants = sign_in(grants).into_iter();
            grants.map(|grant| OAuth2AuthorizationCode { scope: None, ..grant }).collect()
        };
        if sign_in(&self.grants) == sign_in(grants) {
            None
        } else if without_scopes(&self.grants) == without_scopes(grants) {
            Some("the toolkit asks for other scopes than when it was connected")
        } else {
            Some("the toolkit signs in in another way than when it was connected")
        }
    }

    /// Returns whether the account's tokens may be revoked with the client and at the endpoints of these
    /// grants: they are those that it was connected with, whatever else has changed.
    pub fn is_revocable_by(&self, grants: &[OAuth2AuthorizationCode]) -> bool {
        let (Some(before), Some(now)) = (self.grants.first(), grants.first()) else { return false };
        let is_connected = matches!(self.state, AccountState::Connected(_));
        is_connected
            && now.revocation_url.is_some()
            && before.revocation_url == now.revocation_url
            && before.token_url == now.token_url
            && before.client_auth == now.client_auth
            && before.client_id_secret == now.client_id_secret
            && before.client_secret_secret == now.client_secret_secret
    }

    /// Returns whether both have the same connection time and tokens.
    pub fn is(&self, other: &Self) -> bool {
        let tokens = |account: &Self| match &account.state {
            AccountState::Connected(tokens) => Some((
                tokens.access_token.expose_secret().to_owned(),
                tokens.refresh_token.as_ref().map(|token| token.expose_secret().to_owned()),
            )),
            AccountState::Ended { .. } => None,
        };
        self.connected_at == other.connected_at && tokens(self) == tokens(other)
    }

    fn sealed_text(&self) -> SecretString {
        serde_json::to_string(self).expect("texts and numbers are valid in JSON").into()
    }

    /// Decrypts a row; `None` if that fails.
    pub(super) fn open(row: &Row, keys: &MasterKeys) -> Option<Self> {
        let account = row.open(keys).ok().and_then(|text| serde_json::from_str(text.expose_secret()).ok());
        if account.is_none() {
            log_broken(row.id());
        }
        account
    }

    /// Approximate size in memory, in bytes.
    pub(super) fn memory(&self) -> usize {
        let text = |secret: &SecretString| secret.expose_secret().len();
        size_of::<Self>()
            + match &self.state {
                AccountState::Connected(tokens) => {
                    text(&tokens.access_token) + tokens.refresh_token.as_ref().map_or(0, text)
                }
                AccountState::Ended { reason } => reason.len(),
            }
    }
}

impl Vault {
    /// Returns the account of a user for a toolkit from the cache of decrypted secrets, which is as current
    /// as the request.
    pub async fn account(&self, user: &str, toolkit: &str) -> Result<Option<Arc<Account>>, VaultError> {
        Ok(self.of_user(user).await?.account(toolkit).cloned())
    }

    /// Returns the account as stored in the database, where another process may just have changed it.
    pub async fn stored_account(&self, user: &str, toolkit: &str) -> Result<Option<Account>, VaultError> {
        let row = self.store.row(SecretId { user, toolkit, name: ACCOUNT }).await?;
        // Loaded after the row, so the key that wraps it is included.
        Ok(row.and_then(|row| Account::open(&row, &self.keys.load())))
    }

    /// Returns the accounts of a toolkit with their user ids, at most `limit`.
    pub async fn accounts_of(&self, toolkit: &str, limit: u32) -> Result<Vec<(String, Account)>, VaultError> {
        let rows = self.store.accounts_of(toolkit, limit).await?;
        let keys = self.keys.load_full();
        let open = |row: Row| Account::open(&row, &keys).map(|account| (row.user_id, account));
        Ok(rows.into_iter().filter_map(open).collect())
    }

    /// Records the use of a single-use link or state. Returns whether it was unused until now.
    pub async fn spend(&self, once: &Once) -> Result<bool, VaultError> {
        Ok(self.store.spend(once).await?)
    }

    /// Stores a newly connected account.
    pub async fn put_account(
        self: &Arc<Self>,
        by: &Actor,
        slot: SecretSlot,
        account: &Account,
    ) -> Result<(), VaultError> {
        let id = slot.clone();
        let owner = slot.owner.clone();
        let act = Some((Act::AccountConnected, by.clone()));
        self.write_account(slot, Some(owner), account, act, move |rows, _| {
            check_count(rows, id.id()).map(|()| true)
        })
        .await
    }

    /// Stores the new state of an account. Fails with [`VaultError::ToolkitChanged`] if the stored account no
    /// longer equals `before`, as it was removed or connected again.
    pub async fn replace_account(
        self: &Arc<Self>,
        user: &str,
        toolkit: &str,
        before: &Account,
        after: &Account,
    ) -> Result<(), VaultError> {
        let slot = SecretSlot::account(user, toolkit, "");
        let id = slot.clone();
        let before = before.clone();
        let written = after.clone();
        let check = move |rows: &[Row], keys: &MasterKeys| {
            let row = rows.iter().find(|row| row.id() == id.id());
            let stored = row.and_then(|row| Account::open(row, keys)).ok_or(VaultError::ToolkitChanged)?;
            // Equal to `written` if an earlier attempt succeeded and its response was lost; then it was
            // recorded, too.
            let is_written = stored.is(&written);
            if is_written || stored.is(&before) { Ok(!is_written) } else { Err(VaultError::ToolkitChanged) }
        };
        // No owner check: accounts are deleted by a take-over, so an existing one belongs to the current
        // owner's toolkit.
        let has_ended = matches!(after.state, AccountState::Ended { .. });
        let act = has_ended.then(|| (Act::AccountEndedByProvider, Actor::server()));
        self.write_account(slot, None, after, act, check).await
    }

    async fn write_account(
        self: &Arc<Self>,
        slot: SecretSlot,
        owner: Option<String>,
        account: &Account,
        act: Option<(Act, Actor)>,
        check: impl FnOnce(&[Row], &MasterKeys) -> Result<bool, VaultError> + Send + 'static,
    ) -> Result<(), VaultError> {
        let vault = self.clone();
        let text = account.sealed_text();
        let is_connected = matches!(account.state, AccountState::Connected(_));
        let write = async move {
            let _sealing = vault.sealing.lock().await;
            let keys = vault.keys.load_full();
            let sealed = seal::seal(keys.current(), slot.id(), &text);
            let owner = owner.as_deref();
            let audit = act.as_ref().map(|(act, by)| {
                let entry = Entry::new(*act, by).toolkit(slot.toolkit.as_str());
                if *by == Actor::server() { entry.affects(&slot.user) } else { entry }
            });
            let write = Write {
                owner,
                master_key: keys.current().name(),
                sealed,
                once: None,
                options: EveryoneOptions::default(),
                audit,
            };
            if !vault.store.put(&slot, write, |rows| check(rows, &keys)).await? {
                return Err(VaultError::ToolkitChanged);
            }
            vault.cache.forget(&slot.user).await;
            info!(user = %slot.user, toolkit.id = %slot.toolkit, is_connected, "stored an account");
            Ok(())
        };
        to_its_end(write).await?
    }

    /// Deletes an account and returns it, if it exists.
    pub async fn remove_account(
        self: &Arc<Self>,
        by: &Actor,
        user: &str,
        toolkit: &str,
    ) -> Result<Option<Account>, VaultError> {
        let vault = self.clone();
        let by = by.clone();
        let user = user.to_owned();
        let toolkit = toolkit.to_owned();
        let removal = async move {
            let id = SecretId { user: &user, toolkit: &toolkit, name: ACCOUNT };
            let audit = Entry::new(Act::AccountEnded, &by).toolkit(toolkit.as_str());
            let audit = if by.user() == user { audit } else { audit.affects(&user) };
            let row = vault.store.take(id, &audit).await?;
            vault.cache.forget(&user).await;
            if row.is_some() {
                info!(%user, toolkit.id = %toolkit, "removed an account");
            }
            Ok(row.and_then(|row| Account::open(&row, &vault.keys.load())))
        };
        to_its_end(removal).await?
    }

    /// Discards the cached secrets of a user, which another process has changed.
    pub async fn forget(&self, user: &str) {
        self.cache.forget(user).await;
    }

    /// Returns the id of the attempt that currently renews the tokens of an account.
    pub async fn refresh_holder(&self, user: &str, toolkit: &str) -> Result<Option<String>, VaultError> {
        Ok(self.store.refresh_holder(user, toolkit).await?)
    }

    /// Claims the renewal of an account's tokens as `holder`. Returns `false` if another holder has claimed
    /// it, unless that one is `ended`.
    pub async fn begin_refresh(
        &self,
        user: &str,
        toolkit: &str,
        holder: &str,
        ended: Option<&str>,
    ) -> Result<bool, VaultError> {
        Ok(self.store.take_refresh(user, toolkit, holder, ended).await?)
    }

    /// Releases the claim on the renewal.
    pub async fn end_refresh(&self, user: &str, toolkit: &str, holder: &str) -> Result<(), VaultError> {
        Ok(self.store.end_refresh(user, toolkit, holder).await?)
    }
}

fn check_count(rows: &[Row], id: SecretId<'_>) -> Result<(), VaultError> {
    let others = rows.iter().filter(|row| row.name == ACCOUNT && row.id() != id).count();
    if others >= MAX_ACCOUNTS_PER_USER {
        return Err(VaultError::Refused(format!("a user may connect {MAX_ACCOUNTS_PER_USER} accounts")));
    }
    Ok(())
}

fn expose<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    secret.expose_secret().serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn expose_some<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(ExposeSecret::expose_secret).serialize(serializer)
}
