//! The issuer of local mode: its signing key, its metadata, and access tokens.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use jsonwebtoken::jwk::{Jwk, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::issuer_error::LocalIssuerError;
use super::scopes::SCOPES;
use super::secret::random_text;
use super::{key_file, paths};
use crate::clock::now;
use crate::keys::KeySet;

/// Issues access tokens for the service itself.
pub struct LocalIssuer {
    base_url: String,
    signing_key: EncodingKey,
    public_key: Jwk,
    key_id: String,
}

/// Contents of an access token.
#[derive(Clone, Copy, Debug)]
pub struct AccessGrant<'a> {
    /// User id (`sub`).
    pub user: &'a str,
    /// OAuth client that receives the token.
    pub client_id: &'a str,
    /// Granted scopes.
    pub scopes: &'a [&'a str],
    /// Time until `exp`, in whole seconds.
    pub lifetime: Duration,
}

impl LocalIssuer {
    /// Opens the issuer of this data directory; creates its key at the first start.
    ///
    /// `base_url` is the public base URL; without a trailing slash it is the issuer identifier.
    pub fn open(data_directory: &Path, base_url: &str) -> Result<Self, LocalIssuerError> {
        let path = data_directory.join(key_file::NAME);
        let signing_key = EncodingKey::from_ec_der(&key_file::load_or_create(&path)?);
        let mut public_key = Jwk::from_encoding_key(&signing_key, Algorithm::ES256)
            .map_err(|_| LocalIssuerError::Malformed { path })?;
        let key_id = public_key.thumbprint(ThumbprintHash::SHA256);
        public_key.common.key_id = Some(key_id.clone());
        public_key.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { base_url: base_url.trim_end_matches('/').to_owned(), signing_key, public_key, key_id })
    }

    /// The issuer identifier: the public base URL.
    pub fn issuer(&self) -> &str {
        &self.base_url
    }

    /// The public key as a JWK set (RFC 7517), to be served at [`paths::JWKS`].
    pub fn jwks(&self) -> Value {
        json!({ "keys": [self.public_key] })
    }

    /// Authorization server metadata (RFC 8414).
    pub fn metadata(&self) -> Value {
        let base = &self.base_url;
        json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}{}", paths::AUTHORIZE),
            "token_endpoint": format!("{base}{}", paths::TOKEN),
            "revocation_endpoint": format!("{base}{}", paths::REVOKE),
            "registration_endpoint": format!("{base}{}", paths::REGISTER),
            "jwks_uri": format!("{base}{}", paths::JWKS),
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        })
    }

    /// Signs an access token (RFC 9068) for `{base_url}/mcp`.
    pub fn mint_access_token(&self, grant: AccessGrant<'_>) -> SecretString {
        self.mint_as_of(now(), grant)
    }

    /// Signs an access token whose `iat` is `issued`, in seconds since 1970.
    pub(super) fn mint_as_of(&self, issued: f64, grant: AccessGrant<'_>) -> SecretString {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since 1970")]
        let issued = issued as u64;
        let header = Header {
            typ: Some("at+jwt".to_owned()),
            kid: Some(self.key_id.clone()),
            ..Header::new(Algorithm::ES256)
        };
        let claims = json!({
            "iss": self.base_url,
            "aud": format!("{}/mcp", self.base_url),
            "sub": grant.user,
            "client_id": grant.client_id,
            "scope": grant.scopes.join(" "),
            "iat": issued,
            "exp": issued.saturating_add(grant.lifetime.as_secs()),
            "jti": random_text::<16>(),
        });
        let token = jsonwebtoken::encode(&header, &claims, &self.signing_key);
        token.expect("the signing key was used once when it was opened").into()
    }

    pub(crate) fn key_set(&self) -> KeySet {
        KeySet::parse(self.jwks().to_string().as_bytes(), 0).expect("the set is built by jwks")
    }
}

impl fmt::Debug for LocalIssuer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LocalIssuer")
            .field("base_url", &self.base_url)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}
