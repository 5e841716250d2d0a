//! Token endpoint (RFC 6749, section 3.2), and revocation (RFC 7009).

use std::mem;
use std::time::Duration;

use kitbag_base::sha256::Sha256;
use secrecy::{ExposeSecret, SecretString};
use tracing::{info, warn};

use super::authorization::Code;
use super::authorization_server::AuthorizationServer;
use super::issuer::AccessGrant;
use super::oauth_error::{EndpointError, ErrorCode, OAuthError};
use super::parameters::Parameters;
use super::refresh_chain::{Presented, first_refresh_token};
use super::scopes::Scopes;
use super::secret::random_text;
use super::store::{self, GrantRow, RevokedBy};
use crate::clock;

/// Token response.
#[derive(Debug)]
pub struct Tokens {
    /// A bearer token for `{base_url}/mcp`.
    pub access_token: SecretString,
    /// Lifetime of the access token.
    pub expires_in: Duration,
    /// Single-use refresh token; `None` without the scope `offline_access`. Reuse within
    /// [`Lifetimes::replaced_token`](super::authorization_server::Lifetimes::replaced_token) returns the newest token; later reuse
    /// revokes the grant if the newest token was used as well.
    pub refresh_token: Option<SecretString>,
    /// Scopes of the access token.
    pub scopes: Scopes,
}

impl AuthorizationServer {
    /// Handles a token request; `form` is its body.
    ///
    /// A single access token cannot be revoked: it is verified without a look-up, and is short-lived instead. When
    /// its user's access is ended, it is refused for its `iat`, which is the time at which this request arrived: what
    /// is looked up here is newer.
    pub async fn token(&self, form: &str) -> Result<Tokens, EndpointError> {
        let arrived = clock::now();
        let parameters = Parameters::parse(form);
        let grant_type = parameters.require("grant_type", "grant_type is missing")?;
        let client_id = parameters.require("client_id", "client_id is missing")?;
        if !self.knows_client(client_id).await? {
            return Err(ErrorCode::InvalidClient
                .because("the client is not registered; register again")
                .into());
        }
        self.check_resource(parameters.get("resource")?)?;
        match grant_type {
            "authorization_code" => self.redeem(&parameters, client_id, arrived).await,
            "refresh_token" => self.refresh(&parameters, client_id, arrived).await,
            _ => Err(ErrorCode::UnsupportedGrantType
                .because("grant_type must be authorization_code or refresh_token")
                .into()),
        }
    }

    async fn redeem(
        &self,
        parameters: &Parameters,
        client_id: &str,
        arrived: f64,
    ) -> Result<Tokens, EndpointError> {
        const ENDED: &str = "the access of the user was ended after the consent; sign in again";

        let code = parameters.require("code", "code is missing")?;
        let redirect_uri = parameters.require("redirect_uri", "redirect_uri is missing")?;
        let verifier = parameters.require("code_verifier", "code_verifier is missing")?;

        let mut codes = self.codes.lock().await;
        let entry = codes
            .get_mut(code)
            .ok_or(ErrorCode::InvalidGrant.because("the code is unknown or has expired"))?;
        // The code is spent even if this request fails.
        let grant_id = random_text::<16>();
        let spent = Code::Spent { grant_id: grant_id.clone() };
        let (authorization, user, issued_at) = match mem::replace(entry, spent) {
            Code::Fresh { authorization, user, issued_at } => (authorization, user, issued_at),
            Code::Spent { grant_id } => {
                warn!(client.id = client_id, "a code was presented again; what it gave is revoked");
                *entry = Code::Spent { grant_id: grant_id.clone() };
                self.store.revoke(&grant_id, RevokedBy::Server).await?;
                return Err(ErrorCode::InvalidGrant.because("the code was used before").into());
            }
        };
        if authorization.client.id != client_id || authorization.redirect_uri.as_str() != redirect_uri {
            let description = "the code was issued to another client or redirect_uri";
            return Err(ErrorCode::InvalidGrant.because(description).into());
        }
        if !authorization.challenge.is_met_by(verifier) {
            return Err(ErrorCode::InvalidGrant.because("the code_verifier is wrong").into());
        }

        let refresh_token = if authorization.scopes.last_beyond_access_token() {
            let refresh_token = first_refresh_token(&grant_id);
            let grant = GrantRow {
                id: grant_id,
                client_id: client_id.to_owned(),
                user_id: user.clone(),
                scopes: authorization.scopes.to_string(),
                refresh_digest: Sha256::digest(refresh_token.expose_secret()).to_vec(),
                seed: random_text::<32>().into_bytes(),
                replaced_at: "[]".to_owned(),
            };
            let client = (&authorization.client).into();
            if !self.store.insert_grant(&grant, &client, self.lifetimes.refresh_token, issued_at).await? {
                return Err(ErrorCode::InvalidGrant.because(ENDED).into());
            }
            Some(refresh_token)
        } else if self.store.is_ended_since(&user, issued_at).await? {
            return Err(ErrorCode::InvalidGrant.because(ENDED).into());
        } else {
            None
        };
        let issued = Issued { user: &user, client_id, scopes: authorization.scopes, arrived };
        Ok(self.issue(issued, refresh_token))
    }

    async fn refresh(
        &self,
        parameters: &Parameters,
        client_id: &str,
        arrived: f64,
    ) -> Result<Tokens, EndpointError> {
        let presented = parameters.require("refresh_token", "refresh_token is missing")?;
        let unknown = ErrorCode::InvalidGrant.because("the refresh token is unknown or has expired");
        let (grant_id, _) = presented.split_once('.').ok_or(unknown)?;
        let mut grant = self.store.grant(grant_id).await?.ok_or(unknown)?;
        if grant.client_id != client_id {
            return Err(ErrorCode::InvalidGrant.because("the refresh token is another client's").into());
        }
        let scopes = Scopes::parse(&grant.scopes).narrowed(parameters.get("scope")?)?;

        let classify =
            |grant: &GrantRow| grant.presented(presented, self.lifetimes.replaced_token, store::now());
        let mut kind = classify(&grant);
        if let Presented::Newest(next) = kind {
            let new = Sha256::digest(next.expose_secret());
            if self.store.rotate(&grant, &new, self.lifetimes.refresh_token).await? {
                let issued = Issued { user: &grant.user_id, client_id, scopes, arrived };
                return Ok(self.issue(issued, Some(next)));
            }
            // Another request has used the same token concurrently.
            grant = self.store.grant(grant_id).await?.ok_or(unknown)?;
            kind = classify(&grant);
        }
        match kind {
            Presented::JustReplaced(newest) => {
                let issued = Issued { user: &grant.user_id, client_id, scopes, arrived };
                Ok(self.issue(issued, Some(newest)))
            }
            Presented::Newest(_) | Presented::Late => {
                info!(client.id = %grant.client_id, user.id = %grant.user_id, "refused a refresh token that was replaced; the newest was not used since");
                let description = "the refresh token was replaced; use the newest one, or sign in again";
                Err(ErrorCode::InvalidGrant.because(description).into())
            }
            Presented::Reused => Err(self.reused(&grant).await?.into()),
        }
    }

    /// Revokes the grant of a refresh token (RFC 7009). Invalid tokens are not an error; access tokens cannot
    /// be revoked and are refused.
    pub async fn revoke(&self, form: &str) -> Result<(), EndpointError> {
        let parameters = Parameters::parse(form);
        let token = parameters.require("token", "token is missing")?;
        let client_id = parameters.require("client_id", "client_id is missing")?;
        let Some((grant_id, secret)) = token.split_once('.') else { return Ok(()) };
        if secret.contains('.') {
            let description = "access tokens cannot be taken back; they expire by themselves";
            return Err(ErrorCode::UnsupportedTokenType.because(description).into());
        }
        let Some(grant) = self.store.grant(grant_id).await? else { return Ok(()) };
        if grant.refresh_digest == Sha256::digest(token) && grant.client_id == client_id {
            self.store.revoke(&grant.id, RevokedBy::Client).await?;
        }
        Ok(())
    }

    /// Revokes the grant of a reused refresh token: two parties have the token, and the legitimate client is
    /// unknown (RFC 9700, section 4.14.2).
    async fn reused(&self, grant: &GrantRow) -> kitbag_database::Result<OAuthError> {
        warn!(client.id = %grant.client_id, user.id = %grant.user_id, "a refresh token was used again; its grant is revoked");
        self.store.revoke(&grant.id, RevokedBy::Server).await?;
        Ok(ErrorCode::InvalidGrant.because("the refresh token was used before"))
    }

    fn issue(&self, issued: Issued<'_>, refresh_token: Option<SecretString>) -> Tokens {
        let Issued { user, client_id, scopes, arrived } = issued;
        let expires_in = self.lifetimes.access_token;
        let grant = AccessGrant { user, client_id, scopes: scopes.names(), lifetime: expires_in };
        let access_token = self.issuer.mint_as_of(arrived, grant);
        Tokens { access_token, expires_in, refresh_token, scopes }
    }
}

/// Contents of the tokens of a response.
struct Issued<'a> {
    user: &'a str,
    client_id: &'a str,
    scopes: Scopes,
    /// Time at which the request arrived, in seconds since 1970.
    arrived: f64,
}
