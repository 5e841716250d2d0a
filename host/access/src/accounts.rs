//! Provider accounts that users connect to toolkits. No function returns a token.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kitbag_base::tasks::to_its_end;
use kitbag_manifest::{OAuth2AuthorizationCode, Visibility};
use kitbag_net::egress::{Allowlist, Policy};
use kitbag_toolkits::ToolkitError;
use kitbag_vault::outbound_auth::{
    ConnectError, Departure, Principal, Response, Revocation, SignInError, account_grants,
};
use kitbag_vault::{Account, AccountState, UserSecrets};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use url::Url;

use super::Access;
use super::error::AccessError;
use super::operator::Operator;
use super::toolkits::VisibleToolkit;
use super::user::User;

/// Polling interval of a call that waits until an account is connected.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of accounts whose tokens are revoked when a toolkit is removed.
const MAX_REVOCATIONS: u32 = 1000;

/// State of a user's account for a toolkit, without its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountStatus {
    /// API hosts whose requests carry the account's token.
    pub api_hosts: Vec<String>,
    /// Host of the provider's authorization endpoint, where the user signs in.
    pub provider: String,
    /// Whether calls can use the account.
    pub connected: bool,
    /// Time of connection: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected_at: Option<String>,
    /// Name of the account, as its provider gave it when it was connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Scopes that the toolkit requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Scopes that the provider has granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<String>,
    /// Reason why the connection ended; absent while it is connected or if there never was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Names of the required client credentials that have no value. No account can be connected without them.
    pub missing: Vec<String>,
}

impl VisibleToolkit {
    /// Returns the state of the user's account; `None` if the toolkit declares none.
    pub async fn account(&self) -> Result<Option<AccountStatus>, AccessError> {
        let grants = account_grants(self.definition());
        let Some(grant) = grants.first() else { return Ok(None) };
        let vault = &self.user.stores().vault;
        let id = &self.definition().id;
        // Decrypts no secret: the page on which a broken secret is replaced must still load.
        let secrets = vault.list(self.user.id(), id, Some(self.definition())).await?;
        let is_needed = |name: &str| {
            name == grant.client_id_secret || grant.client_secret_secret.as_deref() == Some(name)
        };
        let missing =
            secrets.into_iter().filter(|it| is_needed(&it.name) && !it.has_value()).map(|it| it.name);
        let mut account = vault.stored_account(self.user.id(), id).await?;
        if let Some(account) = &mut account
            && let Some(reason) = account.misfit(&grants)
        {
            account.state = AccountState::Ended { reason: reason.to_owned() };
        }
        let (connected, ended, granted) = match account.as_ref().map(|account| &account.state) {
            Some(AccountState::Connected(tokens)) => {
                (true, None, tokens.scope.clone().or(grant.scope.clone()))
            }
            Some(AccountState::Ended { reason }) => (false, Some(reason.clone()), None),
            None => (false, None, None),
        };
        let provider = Url::parse(&grant.authorization_url).ok();
        let provider = provider.and_then(|url| url.host_str().map(str::to_owned));
        let shown = |at| Timestamp::from_second(at).unwrap_or_default().to_string();
        Ok(Some(AccountStatus {
            api_hosts: grants.iter().map(|grant| grant.api_host.clone()).collect(),
            provider: provider.unwrap_or_default(),
            connected,
            name: account.as_ref().and_then(|account| account.name().map(str::to_owned)),
            connected_at: account.filter(|_| connected).map(|account| shown(account.connected_at)),
            asked: grant.scope.clone(),
            granted,
            ended,
            missing: missing.collect(),
        }))
    }

    /// Starts to connect an account, and ends the one that is connected. Returns the provider's authorization
    /// URL for the user's browser, which is redirected back to `redirect_uri`.
    pub async fn begin_connecting(&self, redirect_uri: &str) -> Result<Url, AccessError> {
        self.user.admit_own_act()?;
        self.user.stores().disk.room_for_a_little()?;
        let (secrets, grants) = self.for_connecting().await?;
        // Before the user goes to the provider: the token could not be had afterwards.
        for grant in &grants {
            let permitted =
                self.user.stores().host_policy.expect_permitted(&grant.token_url, &self.user.membership());
            permitted.map_err(|refusal| ConnectError::from(SignInError::from(refusal)))?;
        }
        // The user agrees to what they were shown, not to what is live when the browser returns.
        if !self.agree_first().await? {
            return Err(ConnectError::Changed.into());
        }
        let principal = self.principal();
        let owner = self.owner();
        let departure =
            Departure { principal: &principal, owner, grants: &grants, redirect_uri, secrets: &secrets };
        let url = self.user.stores().accounts.depart(&departure)?;
        self.end_connected().await?;
        Ok(url)
    }

    /// Ends the account that another one will replace, and revokes its tokens. Before the user goes to the
    /// provider: afterwards, providers that take both for one grant would end the new tokens too.
    async fn end_connected(&self) -> Result<(), AccessError> {
        let id = &self.definition().id;
        let account = self.user.stores().vault.stored_account(self.user.id(), id).await?;
        if account.is_some_and(|account| matches!(account.state, AccountState::Connected(_))) {
            self.user.stored_for(id).end_account().await?;
        }
        Ok(())
    }

    /// Connects the account with the provider's response. Runs to completion even if the browser disconnects.
    pub async fn connect(self, redirect_uri: String, response: Response) -> Result<(), AccessError> {
        let connected = to_its_end(async move { self.connect_now(&redirect_uri, &response).await });
        connected.await.map_err(ToolkitError::from)?
    }

    async fn connect_now(&self, redirect_uri: &str, response: &Response) -> Result<(), AccessError> {
        let (secrets, grants) = self.for_connecting().await?;
        let principal = self.principal();
        let owner = self.owner();
        let departure =
            Departure { principal: &principal, owner, grants: &grants, redirect_uri, secrets: &secrets };
        let allowlist = Arc::new(Allowlist::parse(&self.definition().egress).unwrap_or_default());
        let policy =
            Policy::Toolkit { allowlist, user: self.user.id().into(), membership: self.user.membership() };
        Ok(self.user.stores().accounts.arrive(&departure, &policy, response).await?)
    }

    async fn for_connecting(&self) -> Result<(Arc<UserSecrets>, Vec<OAuth2AuthorizationCode>), AccessError> {
        let id = &self.definition().id;
        let grants = account_grants(self.definition());
        if grants.is_empty() {
            return Err(AccessError::NoAccountDeclared(id.clone()));
        }
        // The version decides to which provider the user's client credentials are sent.
        let beyond = self.user.stores().toolkits.consents.awaited(self.user.id(), self.live()).await?;
        if !beyond.is_empty() {
            return Err(AccessError::ConsentWaits(id.clone()));
        }
        Ok((self.user.stores().vault.for_call(self.user.id(), id).await?, grants))
    }

    fn principal(&self) -> Principal {
        Principal { user_id: self.user.id().to_owned(), toolkit_id: self.definition().id.as_str().into() }
    }
}

impl User {
    /// Waits until the user's account for a toolkit is connected, through any process of the service.
    pub async fn until_connected(&self, toolkit: &str) -> Result<(), AccessError> {
        loop {
            let grants = account_grants(self.toolkit(toolkit)?.definition());
            let account = self.stores().vault.stored_account(self.id(), toolkit).await?;
            let is_usable = |account: &Account| {
                account.misfit(&grants).is_none() && matches!(account.state, AccountState::Connected(_))
            };
            if account.as_ref().is_some_and(is_usable) {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        // Ignored: if the database does not answer, the call itself fails.
        let _ = self.access.catch_up(self.id()).await;
        Ok(())
    }
}

impl Operator {
    /// Returns the revocations of all users' accounts for a toolkit, to run after it is removed or changes
    /// its owner.
    pub(super) async fn revocations(&self, toolkit: &str) -> Result<Vec<Revocation>, AccessError> {
        let access = &self.0.access;
        let may_change = access.stores().toolkits.registry.load().get(toolkit).is_some_and(|live| {
            live.owner == self.0.id() || live.definition.visibility == Visibility::Shared
        });
        if !may_change {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for (user, account) in access.stores().vault.accounts_of(toolkit, MAX_REVOCATIONS).await? {
            all.extend(access.revocation(&user, toolkit, account).await);
        }
        Ok(all)
    }
}

impl Access {
    /// Returns what is needed to revoke an account's tokens at its provider; `None` if that is not possible.
    /// The credentials are sent only to the provider that the live version declares.
    pub(super) async fn revocation(&self, user: &str, toolkit: &str, account: Account) -> Option<Revocation> {
        let registry = self.stores().toolkits.registry.load();
        let grants = registry.get(toolkit).map(|live| account_grants(&live.definition))?;
        if !account.is_revocable_by(&grants) {
            return None;
        }
        // If a secret cannot be decrypted, the vault has logged it; the account is removed nevertheless.
        let secrets = self.stores().vault.for_call(user, toolkit).await.ok()?;
        let principal = Principal { user_id: user.to_owned(), toolkit_id: toolkit.into() };
        Some(Revocation::of(principal, account, &secrets))
    }
}
