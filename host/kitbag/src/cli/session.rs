//! Sessions of `kitbag login`: the credentials of a user's commands.
//!
//! Invariants:
//! - a session's tokens are sent only to the server that they were issued for, and to its issuer: sessions
//!   are looked up by the server's origin alone;
//! - a refresh token is used by one process at a time, and its successor is on disk before the new access
//!   token is used: issuers revoke a session whose refresh token is reused.

mod file;

use std::fmt;

use jiff::Timestamp;
use kitbag_identity::client::{self as oauth, AuthorizationServer, Client, Http, Tokens};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use super::error::{CliError, Exit};

pub(super) use self::file::SessionFile;

/// Seconds before expiry at which an access token is renewed.
const RENEWAL_MARGIN_SECONDS: i64 = 30;

/// Stored session with one server.
#[derive(Clone, Deserialize, Serialize)]
pub(super) struct Session {
    /// Issuer identifier of the authorization server.
    pub(super) issuer: String,
    /// Client id of this program at the issuer.
    pub(super) client_id: String,
    resource: String,
    token_endpoint: Url,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_endpoint: Option<Url>,
    #[serde(serialize_with = "expose")]
    access_token: SecretString,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "expose_some")]
    refresh_token: Option<SecretString>,
    /// Expiry of the access token, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

/// Session with one server that renews itself.
pub(super) struct SignedIn {
    file: SessionFile,
    server: Url,
}

impl Session {
    pub(super) fn new(server: AuthorizationServer, client_id: String, tokens: Tokens) -> Self {
        Self {
            issuer: server.issuer,
            client_id,
            resource: server.resource,
            token_endpoint: server.token_endpoint,
            revocation_endpoint: server.revocation_endpoint,
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token,
            expires_at: tokens.expires_at,
        }
    }

    /// Revokes the session at its issuer, if the issuer has a revocation endpoint (RFC 7009).
    pub(super) async fn revoke(&self) -> Result<(), CliError> {
        let (Some(endpoint), Some(refresh_token)) = (&self.revocation_endpoint, &self.refresh_token) else {
            return Ok(());
        };
        let client = Client::public(&self.client_id);
        Ok(oauth::revoke(&Http::default(), endpoint, &client, refresh_token).await?)
    }

    fn is_fresh(&self) -> bool {
        self.expires_at.is_none_or(|expires| Timestamp::now().as_second() < expires - RENEWAL_MARGIN_SECONDS)
    }

    fn replace_tokens(&mut self, tokens: Tokens) {
        self.access_token = tokens.access_token;
        self.expires_at = tokens.expires_at;
        // An issuer that does not rotate refresh tokens sends none, and the old one stays valid.
        self.refresh_token = tokens.refresh_token.or(self.refresh_token.take());
    }
}

impl SignedIn {
    /// Returns the session with `server`, if there is one.
    pub(super) fn at(server: &Url) -> Result<Option<Self>, CliError> {
        let Some(file) = SessionFile::of_this_user() else { return Ok(None) };
        let session = file.read()?.get(server).cloned();
        Ok(session.map(|_| Self { file, server: server.clone() }))
    }

    /// Returns an access token that is valid for at least 30 s, after renewing it if necessary.
    pub(super) async fn token(&self) -> Result<SecretString, CliError> {
        match self.file.read()?.get(&self.server) {
            Some(session) if session.is_fresh() => Ok(session.access_token.clone()),
            _ => self.renew(Session::is_fresh).await,
        }
    }

    /// Returns a new access token in place of `refused`, which the server rejected.
    pub(super) async fn token_after(&self, refused: &SecretString) -> Result<SecretString, CliError> {
        self.renew(|session| session.access_token.expose_secret() != refused.expose_secret()).await
    }

    /// Renews the session, unless `is_good` already accepts it because another process has renewed it.
    async fn renew(&self, is_good: impl Fn(&Session) -> bool) -> Result<SecretString, CliError> {
        let mut locked = self.file.lock().await?;
        let session = locked.sessions.get_mut(&self.server).ok_or_else(|| self.ended("it was ended here"))?;
        if is_good(session) {
            return Ok(session.access_token.clone());
        }
        let Some(refresh_token) = &session.refresh_token else {
            return Err(self.ended("it has expired"));
        };
        let http = Http::default();
        let client = Client::public(&session.client_id);
        let renewed =
            oauth::refresh(&http, &session.token_endpoint, &client, &session.resource, refresh_token);
        let renewed = renewed.await?.map_err(|refusal| self.ended(refusal))?;
        session.replace_tokens(renewed);
        let token = session.access_token.clone();
        locked.store()?;
        Ok(token)
    }

    fn ended(&self, why: impl fmt::Display) -> CliError {
        CliError::new(format!("the session at {} is over: {why}", self.server))
            .exit(Exit::SignedOut)
            .hint(sign_in_again(&self.server))
    }
}

/// Hint to sign in again.
pub(super) fn sign_in_again(server: &Url) -> String {
    format!("run `kitbag login --server {server}`")
}

fn expose<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn expose_some<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(ExposeSecret::expose_secret).serialize(serializer)
}
