//! Revokes tokens at the provider (RFC 7009), best effort.

use std::sync::Arc;

use kitbag_manifest::egress::entry_for;
use kitbag_net::egress::{Allowlist, Membership, Policy};
use secrecy::{ExposeSecret, SecretString};
use tracing::{info, warn};
use url::Url;

use super::{Accounts, client_of};
use crate::outbound_auth::Principal;
use crate::{Account, AccountState, Tokens, UserSecrets};

/// Data for revoking the tokens of an account after the account was deleted.
pub struct Revocation {
    principal: Principal,
    account: Account,
    client_id: Option<SecretString>,
    client_secret: Option<SecretString>,
}

impl Revocation {
    pub(super) fn new(
        principal: Principal,
        account: Account,
        client_id: Option<SecretString>,
        client_secret: Option<SecretString>,
    ) -> Self {
        Self { principal, account, client_id, client_secret }
    }

    /// Creates the revocation of an account of this user and toolkit. `secrets` are the user's secrets for
    /// the toolkit.
    pub fn of(principal: Principal, account: Account, secrets: &UserSecrets) -> Self {
        let value = |name: &str| secrets.get(&principal.toolkit_id, name).cloned();
        let grant = account.grants.first();
        let client_id = grant.and_then(|it| value(&it.client_id_secret));
        let client_secret = grant.and_then(|it| it.client_secret_secret.as_deref()).and_then(value);
        Self::new(principal, account, client_id, client_secret)
    }
}

impl Accounts {
    /// Revokes the tokens of accounts in the background, one after the other.
    pub fn revoke_later(&self, revocations: Vec<Revocation>) {
        if revocations.is_empty() {
            return;
        }
        let accounts = self.clone();
        self.egress.spawn_on_runtime(async move {
            for revocation in revocations {
                accounts.revoke(&revocation).await;
            }
        });
    }

    /// Revokes the tokens of an account. Returns whether the provider has confirmed it.
    pub async fn revoke(&self, revocation: &Revocation) -> bool {
        self.try_to_revoke(revocation).await.unwrap_or_default()
    }

    /// Returns `None` if there is nothing to revoke, or no way to.
    async fn try_to_revoke(&self, revocation: &Revocation) -> Option<bool> {
        let Revocation { principal, account, client_id, client_secret } = revocation;
        let grant = account.grants.first()?;
        let AccountState::Connected(Tokens { access_token, refresh_token, .. }) = &account.state else {
            return None;
        };
        let url = grant.revocation_url.as_deref()?;
        let client = client_of(grant, client_id.as_ref(), client_secret.as_ref())?;
        // Given the refresh token, providers revoke all tokens of the grant (RFC 7009, section 2.1).
        let (token, kind) = match refresh_token {
            Some(token) => (token, "refresh_token"),
            None => (access_token, "access_token"),
        };
        // The toolkit's current declaration may allow other hosts.
        let allowlist = Arc::new(Allowlist::parse(&[entry_for(&Url::parse(url).ok()?)]).ok()?);
        // Operators and other processes revoke too, which do not know the user's groups.
        let membership = Membership::Unknown;
        let policy = Policy::Toolkit { allowlist, user: principal.user_id.as_str().into(), membership };
        let form = [("token", token.expose_secret()), ("token_type_hint", kind)];
        let toolkit = &principal.toolkit_id;
        match client.post(url, &form, &self.egress, &policy).await {
            Ok(response) if response.status().is_success() => {
                info!(toolkit.id = %toolkit, "revoked an account's tokens");
                Some(true)
            }
            Ok(response) => {
                warn!(toolkit.id = %toolkit, status = %response.status(), "an account's tokens were not revoked");
                Some(false)
            }
            Err(error) => {
                warn!(toolkit.id = %toolkit, %error, "an account's tokens were not revoked");
                Some(false)
            }
        }
    }
}
