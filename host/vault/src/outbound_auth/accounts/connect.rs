//! Connects an account: redirects to the provider with an encrypted `state`, and exchanges the returned code.
//!
//! Nothing is stored for a pending connection: the `state` contains the user, the toolkit's owner, a hash of
//! its grants and the PKCE verifier, encrypted for the toolkit's id. Each toolkit has its own redirect URI,
//! and all grants of a toolkit are at one provider, so that the response of one provider is never taken for
//! that of another (RFC 9700, section 4.4).
//!
//! Invariants:
//! - a `state` is valid for one connection, by its user, within ten minutes, on whichever process;
//! - it is used up before the code is sent anywhere.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use kitbag_base::sha256::Sha256;
use kitbag_database::audit::Actor;
use kitbag_manifest::OAuth2AuthorizationCode;
use kitbag_manifest::reply::TokenProblem;
use kitbag_net::egress::Policy;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use url::Url;

use super::{Accounts, client_of, names, random_text, token_of, tokens_of};
use crate::outbound_auth::request::host_of;
use crate::outbound_auth::{Principal, SignInError, account_name, answer, missing};
use crate::{Account, AccountState, Once, SealedValue, SecretSlot, UserSecrets, VaultError};

/// Lifetime of a state, in seconds.
const LIFETIME: i64 = 600;
/// Maximum length of an accepted state or code, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Purpose of the encryption ([`Vault::seal_value`](crate::Vault::seal_value)).
const PURPOSE: &str = "account state";

/// Parameters of a connection: the user and the toolkit as agreed to.
#[derive(Clone)]
pub struct Departure<'a> {
    /// User who connects an account, and toolkit.
    pub principal: &'a Principal,
    /// Owner of the toolkit.
    pub owner: &'a str,
    /// Grants of the toolkit. They differ only in their hosts.
    pub grants: &'a [OAuth2AuthorizationCode],
    /// URI to which the provider redirects the browser.
    pub redirect_uri: &'a str,
    /// Secrets of the user for the toolkit.
    pub secrets: &'a UserSecrets,
}

/// Authorization response, in the query of the redirect URI (RFC 6749, section 4.1.2; RFC 9207).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Response {
    code: Option<SecretString>,
    state: Option<SecretString>,
    iss: Option<String>,
    error: Option<String>,
}

/// Content of a state.
#[derive(Serialize, Deserialize)]
struct ConnectState {
    user: String,
    owner: String,
    /// Hash of the grants.
    grants: String,
    verifier: String,
    /// Expiry in seconds since 1970.
    expires: i64,
}

/// Reasons why no account was connected.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The state was not created by this server, is for another toolkit, has expired, or was used before.
    #[error("this sign-in was not begun here, or is more than ten minutes old, or has been used")]
    NoState,
    /// The browser is signed in as a user other than the one who began the connection.
    #[error("this sign-in was begun by another user than the one who is signed in here")]
    OtherUser,
    /// The owner or the grants of the toolkit have changed since the connection began.
    #[error("the toolkit has changed since this sign-in was begun")]
    Changed,
    /// The response is from another authorization server (RFC 9207).
    #[error("the answer is that of another server than the one that was asked")]
    OtherIssuer,
    /// The user or the provider has refused the connection.
    #[error("{host} did not connect the account: {code}")]
    Declined {
        /// Host of the provider.
        host: String,
        /// Registered error code, or a text that there is none.
        code: &'static str,
    },
    /// The code could not be exchanged for a token, or client credentials are missing.
    #[error(transparent)]
    Failed(#[from] SignInError),
    /// The account cannot be stored.
    #[error(transparent)]
    Storage(#[from] VaultError),
}

impl Accounts {
    /// Returns the authorization URL for the browser (RFC 6749, section 4.1.1; RFC 7636, section 4.3).
    pub fn depart(&self, departure: &Departure<'_>) -> Result<Url, ConnectError> {
        let grant = departure.grants.first().ok_or(ConnectError::Changed)?;
        let (id, _) = departure.client(grant)?;
        let verifier = random_text::<32>();
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let Principal { user_id, toolkit_id } = departure.principal;
        let state = ConnectState {
            user: user_id.clone(),
            owner: departure.owner.to_owned(),
            grants: fingerprint(departure.grants),
            verifier,
            expires: now() + LIFETIME,
        };
        let text = serde_json::to_string(&state).expect("texts and numbers are valid in JSON");
        let state = self.vault.seal_value(PURPOSE, toolkit_id, &text.into()).to_word();
        let mut url = Url::parse(&grant.authorization_url).map_err(|_| ConnectError::Changed)?;
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", id.expose_secret())
            .append_pair("redirect_uri", departure.redirect_uri)
            .append_pair("state", &state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if let Some(scope) = grant.scope.as_deref().filter(|scope| !scope.is_empty()) {
            query.append_pair("scope", scope);
        }
        query.extend_pairs(&grant.authorization_params);
        drop(query);
        Ok(url)
    }

    /// Exchanges the code of an authorization response and stores the account. `departure` describes the
    /// signed-in user and the toolkit as they are now.
    pub async fn arrive(
        &self,
        departure: &Departure<'_>,
        policy: &Policy,
        response: &Response,
    ) -> Result<(), ConnectError> {
        let Principal { user_id, toolkit_id } = departure.principal;
        let word = response.state.as_ref().map(ExposeSecret::expose_secret).unwrap_or_default();
        let state = self.open(word, toolkit_id).ok_or(ConnectError::NoState)?;
        if state.user != *user_id {
            return Err(ConnectError::OtherUser);
        }
        if !self.vault.spend(&Once::new(word, state.expires)).await? {
            return Err(ConnectError::NoState);
        }
        let grant = departure.grants.first().ok_or(ConnectError::Changed)?;
        if state.owner != departure.owner || state.grants != fingerprint(departure.grants) {
            return Err(ConnectError::Changed);
        }
        if response.iss.as_deref().is_some_and(|iss| !is_of(iss, &grant.authorization_url)) {
            return Err(ConnectError::OtherIssuer);
        }
        let host = host_of(&grant.authorization_url);
        if let Some(code) = &response.error {
            return Err(ConnectError::Declined { host, code: known_code(code) });
        }
        let code =
            response.code.as_ref().map(ExposeSecret::expose_secret).filter(|it| it.len() <= MAX_TEXT_BYTES);
        let code = code.ok_or(ConnectError::Declined { host, code: "it sent no code" })?;
        let account = self.exchange(departure, grant, policy, code, &state.verifier).await?;
        let slot = SecretSlot::account(user_id, toolkit_id, departure.owner);
        Ok(self.vault.put_account(&Actor::user_only(user_id), slot, &account).await?)
    }

    fn open(&self, word: &str, toolkit: &str) -> Option<ConnectState> {
        if word.len() > MAX_TEXT_BYTES {
            return None;
        }
        let text = self.vault.open_value(PURPOSE, toolkit, &SealedValue::from_word(word)?)?;
        let state: ConnectState = serde_json::from_str(text.expose_secret()).ok()?;
        (now() < state.expires).then_some(state)
    }

    /// Exchanges the code for tokens (RFC 6749, section 4.1.3).
    async fn exchange(
        &self,
        departure: &Departure<'_>,
        grant: &OAuth2AuthorizationCode,
        policy: &Policy,
        code: &str,
        verifier: &str,
    ) -> Result<Account, ConnectError> {
        let requested_at = Timestamp::now();
        let (id, secret) = departure.client(grant)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", departure.redirect_uri),
            ("code_verifier", verifier),
        ];
        let client = client_of(grant, Some(id), secret).ok_or(ConnectError::Changed)?;
        let response = client.post(&grant.token_url, &form, &self.egress, policy).await?;
        let host = host_of(&grant.token_url);
        let granted = answer::read(&host, &response)?;
        let of_id_token = granted.name.clone();
        let tokens = tokens_of(granted, requested_at, None);
        // Checked before it is stored, so that the page reports the error, not a later call.
        let token = token_of(&tokens.access_token)
            .map_err(|_| SignInError::Unusable { host, reason: TokenProblem::NotAHeaderValue.reason() })?;
        let declared = match &grant.account_name {
            Some(declared) => account_name::ask(declared, &token, &self.egress, policy).await,
            None => None,
        };
        Ok(Account {
            grants: departure.grants.to_vec(),
            connected_at: requested_at.as_second(),
            name: declared.or(of_id_token),
            state: AccountState::Connected(tokens),
        })
    }
}

impl Departure<'_> {
    /// Returns the id and secret of the OAuth client.
    fn client(
        &self,
        grant: &OAuth2AuthorizationCode,
    ) -> Result<(&SecretString, Option<&SecretString>), ConnectError> {
        let value = |name: &str| self.secrets.get(&self.principal.toolkit_id, name);
        let id = value(&grant.client_id_secret);
        let secret = grant.client_secret_secret.as_deref().and_then(value);
        match id {
            Some(id) if client_of(grant, Some(id), secret).is_some() => Ok((id, secret)),
            _ => Err(missing(self.principal, names(grant, id.is_some(), secret.is_some())).into()),
        }
    }
}

/// Returns whether an issuer (RFC 9207, section 2) has the origin of the authorization endpoint: a
/// declaration names no issuer.
fn is_of(issuer: &str, authorization_url: &str) -> bool {
    let origin = |url: &str| Url::parse(url).map(|url| url.origin());
    matches!((origin(issuer), origin(authorization_url)), (Ok(one), Ok(other)) if one == other)
}

/// Returns a known error code of an authorization endpoint (RFC 6749, section 4.1.2.1), or a fixed text:
/// other values are untrusted.
fn known_code(code: &str) -> &'static str {
    const CODES: [&str; 11] = [
        "access_denied",
        "consent_required",
        "interaction_required",
        "invalid_request",
        "invalid_scope",
        "login_required",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_response_type",
        "account_selection_required",
    ];
    CODES.into_iter().find(|known| *known == code).unwrap_or("an error without a known code")
}

fn fingerprint(grants: &[OAuth2AuthorizationCode]) -> String {
    let text = serde_json::to_string(grants).expect("texts are valid in JSON");
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

fn now() -> i64 {
    Timestamp::now().as_second()
}
