//! Accounts that users connect to toolkits. No function returns a token.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kitbag_manifest::OAuth2AuthorizationCode;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use url::Url;

use super::{AccessError, Operator, Stores, User, VisibleToolkit};
use crate::egress::{Allowlist, Policy};
use crate::outbound_auth::{Departure, Principal, Response, Revocation, account_grants};
use crate::vault::{Account, AccountState};

/// How often a call that waits for an account looks whether it is connected.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Accounts of a toolkit that are ended at their provider when the toolkit goes.
const MAX_REVOCATIONS: u32 = 1000;

/// A user's account for a toolkit; without its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountStatus {
    /// Hosts to whose requests the server attaches it.
    pub api_hosts: Vec<String>,
    /// Whether it can be used.
    pub connected: bool,
    /// When it was connected: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_at: Option<String>,
    /// Scopes that the toolkit asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Scopes that the provider has granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<String>,
    /// Why it ended, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Names of the secrets without which none can be connected.
    pub missing: Vec<String>,
}

impl VisibleToolkit {
    /// The user's account, if the toolkit declares that it uses one.
    pub async fn account(&self) -> Result<Option<AccountStatus>, AccessError> {
        let grants = account_grants(self.definition());
        let Some(grant) = grants.first() else { return Ok(None) };
        let vault = &self.user.stores().vault;
        let secrets = vault.for_call(self.user.id(), &self.definition().id).await?;
        let names = [Some(&grant.client_id_secret), grant.client_secret_secret.as_ref()];
        let missing = names.into_iter().flatten();
        let missing = missing.filter(|name| secrets.get(&self.definition().id, name).is_none());
        let account = vault.stored_account(self.user.id(), &self.definition().id).await?;
        let account = account.filter(|account| account.grants == grants);
        let (connected, ended, granted) = match account.as_ref().map(|account| &account.state) {
            Some(AccountState::Connected(tokens)) => {
                (true, None, tokens.scope.clone().or(grant.scope.clone()))
            }
            Some(AccountState::Ended { reason }) => (false, Some(reason.clone()), None),
            None => (false, None, None),
        };
        let shown = |at| Timestamp::from_second(at).unwrap_or_default().to_string();
        Ok(Some(AccountStatus {
            api_hosts: grants.iter().map(|grant| grant.api_host.clone()).collect(),
            connected,
            connected_at: account.filter(|_| connected).map(|account| shown(account.connected_at)),
            asked: grant.scope.clone(),
            granted,
            ended,
            missing: missing.cloned().collect(),
        }))
    }

    /// Begins to connect an account. Returns the URL at the provider to which the user's browser goes; it comes back to
    /// `redirect_uri`.
    pub async fn begin_connecting(&self, redirect_uri: &str) -> Result<Url, AccessError> {
        self.user.stores().disk.room_for_a_little()?;
        let (secrets, grants) = self.for_connecting().await?;
        let (principal, owner) = (self.principal(), self.owner());
        let departure =
            Departure { principal: &principal, owner, grants: &grants, redirect_uri, secrets: &secrets };
        Ok(self.user.stores().accounts.depart(&departure)?)
    }

    /// Connects the account that the provider's response grants.
    pub async fn connect(&self, redirect_uri: &str, response: &Response) -> Result<(), AccessError> {
        let (secrets, grants) = self.for_connecting().await?;
        let (principal, owner) = (self.principal(), self.owner());
        let departure =
            Departure { principal: &principal, owner, grants: &grants, redirect_uri, secrets: &secrets };
        let allowlist = Arc::new(Allowlist::parse(&self.definition().egress).unwrap_or_default());
        let policy = Policy::Toolkit { allowlist, user: self.user.id().into() };
        Ok(self.user.stores().accounts.arrive(&departure, &policy, response).await?)
    }

    async fn for_connecting(
        &self,
    ) -> Result<(Arc<crate::vault::UserSecrets>, Vec<OAuth2AuthorizationCode>), AccessError> {
        let id = &self.definition().id;
        let grants = account_grants(self.definition());
        if grants.is_empty() {
            return Err(AccessError::NoAccountDeclared(id.clone()));
        }
        Ok((self.user.stores().vault.for_call(self.user.id(), id).await?, grants))
    }

    fn principal(&self) -> Principal {
        Principal { user_id: self.user.id().to_owned(), toolkit_id: self.definition().id.as_str().into() }
    }
}

impl User {
    /// Ends an account, also for a toolkit that the user can no longer see, and revokes its tokens at the provider, best
    /// effort. Returns whether there was one.
    pub async fn end_account(&self, toolkit: &str) -> Result<bool, AccessError> {
        let Stores { vault, accounts, .. } = self.stores();
        let secrets = vault.for_call(self.id(), toolkit).await?;
        let Some(account) = vault.remove_account(&self.actor(), self.id(), toolkit).await? else {
            return Ok(false);
        };
        let principal = Principal { user_id: self.id().to_owned(), toolkit_id: toolkit.into() };
        accounts.revoke_later(vec![Revocation::of(principal, account, &secrets)]);
        Ok(true)
    }

    /// Waits until the user's account for a toolkit is connected, on whichever process.
    pub async fn until_connected(&self, toolkit: &str) -> Result<(), AccessError> {
        loop {
            let account = self.stores().vault.stored_account(self.id(), toolkit).await?;
            if account.is_some_and(|account| matches!(account.state, AccountState::Connected(_))) {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        // A database that does not answer is the call's own concern.
        let _ = self.access.catch_up(self.id()).await;
        Ok(())
    }
}

impl Operator {
    /// What is needed to revoke the tokens of all users' accounts for a toolkit, once it is gone or another's.
    pub(super) async fn revocations(&self, toolkit: &str) -> Result<Vec<Revocation>, AccessError> {
        let vault = &self.0.stores().vault;
        let mut all = Vec::new();
        for (user_id, account) in vault.accounts_of(toolkit, MAX_REVOCATIONS).await? {
            if is_revocable(&account) {
                let secrets = vault.for_call(&user_id, toolkit).await?;
                let principal = Principal { user_id, toolkit_id: toolkit.into() };
                all.push(Revocation::of(principal, account, &secrets));
            }
        }
        Ok(all)
    }
}

fn is_revocable(account: &Account) -> bool {
    account.grants.first().is_some_and(|grant| grant.revocation_url.is_some())
}
