//! Connects an account: to the provider with a sealed state, and back with a code.
//!
//! Nothing is kept of a connection until it ends: user, toolkit, its owner, its grants and the PKCE verifier are in the
//! state, sealed. The redirect URI is one for each toolkit, and all grants of a toolkit are at one provider, so that the
//! answer of one provider is never taken for that of another (RFC 9700, section 4.4).
//!
//! Invariants:
//! - a state is good for one connection, of its user, within ten minutes, on whichever process;
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
use crate::outbound_auth::{Principal, SignInError, answer, missing};
use crate::{Account, AccountState, Once, SealedValue, SecretSlot, UserSecrets, VaultError};

/// How long a state is good, in seconds.
const LIFETIME: i64 = 600;
/// Longest state and code that are read, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// What a state is sealed for.
const PURPOSE: &str = "account state";

/// A toolkit as its user agrees to it.
#[derive(Clone)]
pub struct Departure<'a> {
    /// Who connects an account, and for which toolkit.
    pub principal: &'a Principal,
    /// The toolkit's owner.
    pub owner: &'a str,
    /// The toolkit's grants. They differ in their hosts.
    pub grants: &'a [OAuth2AuthorizationCode],
    /// Where the provider sends the browser.
    pub redirect_uri: &'a str,
    /// The secrets that the toolkit has for the user.
    pub secrets: &'a UserSecrets,
}

/// What the provider has sent the browser back with (RFC 6749, section 4.1.2; RFC 9207).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Response {
    code: Option<SecretString>,
    state: Option<SecretString>,
    iss: Option<String>,
    error: Option<String>,
}

/// A state that has opened.
#[derive(Serialize, Deserialize)]
struct State {
    user: String,
    owner: String,
    /// Hash of the grants.
    grants: String,
    verifier: String,
    /// In seconds since 1970.
    expires: i64,
}

/// Why no account was connected.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The state is not one of this server, is for another toolkit, or its time is over, or it was used.
    #[error("this sign-in was not begun here, or is more than ten minutes old, or has been used")]
    NoState,
    /// The browser is signed in as another user than the one who has begun it.
    #[error("this sign-in was begun by another user than the one who is signed in here")]
    OtherUser,
    /// The toolkit has another owner or other grants than when it was begun.
    #[error("the toolkit has changed since this sign-in was begun")]
    Changed,
    /// Another authorization server has answered.
    #[error("the answer is that of another server than the one that was asked")]
    OtherIssuer,
    /// The user or the provider has refused.
    #[error("{host} did not connect the account: {code}")]
    Declined {
        /// The provider.
        host: String,
        /// A registered code, or that there is none.
        code: &'static str,
    },
    /// The code got no token.
    #[error(transparent)]
    Failed(#[from] SignInError),
    /// The account cannot be stored.
    #[error(transparent)]
    Storage(#[from] VaultError),
}

impl Accounts {
    /// Returns the URL at the provider to which the browser goes (RFC 6749, section 4.1.1; RFC 7636, section 4.3).
    pub fn depart(&self, departure: &Departure<'_>) -> Result<Url, ConnectError> {
        let grant = departure.grants.first().ok_or(ConnectError::Changed)?;
        let (id, _) = departure.client(grant)?;
        let verifier = random_text::<32>();
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let Principal { user_id, toolkit_id } = departure.principal;
        let state = State {
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

    /// Stores the account that the provider grants for a code. The departure is that of the toolkit and of the user who is
    /// signed in, as both are now.
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
        let account = self.exchange(departure, grant, policy, (code, &state.verifier)).await?;
        let slot = SecretSlot::account(user_id, toolkit_id, departure.owner);
        Ok(self.vault.put_account(&Actor::user_only(user_id), slot, &account).await?)
    }

    fn open(&self, word: &str, toolkit: &str) -> Option<State> {
        if word.len() > MAX_TEXT_BYTES {
            return None;
        }
        let text = self.vault.open_value(PURPOSE, toolkit, &SealedValue::from_word(word)?)?;
        let state: State = serde_json::from_str(text.expose_secret()).ok()?;
        (now() < state.expires).then_some(state)
    }

    /// Sends the code (RFC 6749, section 4.1.3).
    async fn exchange(
        &self,
        departure: &Departure<'_>,
        grant: &OAuth2AuthorizationCode,
        policy: &Policy,
        (code, verifier): (&str, &str),
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
        let tokens = tokens_of(granted, requested_at, None);
        // Before it is stored, so that the page says so and not a call.
        token_of(&tokens.access_token)
            .map_err(|_| SignInError::Unusable { host, reason: TokenProblem::NotAHeaderValue.reason() })?;
        Ok(Account {
            grants: departure.grants.to_vec(),
            connected_at: requested_at.as_second(),
            state: AccountState::Connected(tokens),
        })
    }
}

impl Departure<'_> {
    /// The client's id and secret.
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

/// Whether an issuer (RFC 9207, section 2) is at the origin of the authorization endpoint: a declaration names no issuer.
fn is_of(issuer: &str, authorization_url: &str) -> bool {
    let origin = |url: &str| Url::parse(url).map(|url| url.origin());
    matches!((origin(issuer), origin(authorization_url)), (Ok(one), Ok(other)) if one == other)
}

/// A code of an authorization endpoint (RFC 6749, section 4.1.2.1), if it is one: everything else a stranger may have written.
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
