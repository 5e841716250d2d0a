//! The local issuer: signing key, metadata, and access tokens.
//!
//! Local mode is for one machine: the server is its own authorization server, on loopback addresses only. Not
//! constructed with an external provider.
//!
//! Invariant: codes and refresh tokens are stored only as SHA-256.

mod authorization_server;
mod authorize;
mod code_change;
mod code_check;
mod granted_clients;
mod key_file;
mod metadata_document;
mod oauth_error;
mod parameters;
mod person;
mod pkce;
mod redirect_uri;
mod refresh_chain;
mod register;
mod scopes;
mod secret;
mod short_lived;
mod sign_in_code;
mod store;
#[cfg(test)]
mod tests;
mod token;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use jsonwebtoken::jwk::{Jwk, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kitbag_database::DatabaseError;
use secrecy::SecretString;
use serde_json::{Value, json};

pub use self::authorization_server::{AuthorizationServer, ClientSource, Lifetimes};
pub use self::authorize::{AuthorizeError, Consent, Step};
pub use self::code_check::CodePrompt;
pub use self::granted_clients::GrantedClient;
pub use self::oauth_error::{EndpointError, ErrorCode, OAuthError};
pub use self::person::SignInError;
pub use self::redirect_uri::{Destination, RedirectUri};
pub use self::register::Registration;
pub use self::scopes::Scopes;
pub use self::secret::random_text;
pub use self::sign_in_code::{SignInCode, TicketRequest};
pub use self::token::Tokens;

use super::keys::KeySet;
use super::now;

/// Paths of the local issuer's endpoints, relative to the base URL.
pub mod paths {
    /// Authorization endpoint (RFC 6749, section 3.1).
    pub const AUTHORIZE: &str = "/oauth/authorize";
    /// Token endpoint (RFC 6749, section 3.2).
    pub const TOKEN: &str = "/oauth/token";
    /// Token revocation (RFC 7009).
    pub const REVOKE: &str = "/oauth/revoke";
    /// Dynamic client registration (RFC 7591).
    pub const REGISTER: &str = "/oauth/register";
    /// Public keys (RFC 7517).
    pub const JWKS: &str = "/oauth/jwks";
}

/// Supported scopes.
pub(super) const SCOPES: [&str; 3] = ["profile", "email", "offline_access"];

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

/// Error of reading or creating the signing key or the sign-in code.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LocalIssuerError {
    /// The file cannot be read or written.
    #[error("{path} cannot be read or written: {source}", path = .path.display())]
    File {
        /// File of the key or code.
        path: PathBuf,
        /// Error of the file system.
        source: Arc<io::Error>,
    },
    /// The file is accessible to other users of the machine, who could have used it to sign in as any user.
    #[error("{path} is open to other users of this machine, and they may have read it: delete it to get a new one; everybody then signs in again", path = .path.display())]
    Exposed {
        /// File of the key or code.
        path: PathBuf,
    },
    /// The file does not contain a usable P-256 key in PKCS#8.
    #[error("{path} holds no signing key: delete it to get a new one", path = .path.display())]
    Malformed {
        /// The key's file.
        path: PathBuf,
    },
    /// The file does not contain 32 hexadecimal digits.
    #[error("{path} holds no sign-in code: delete it to get a new one", path = .path.display())]
    NoCode {
        /// The code's file.
        path: PathBuf,
    },
    /// Grants could not be revoked.
    #[error("the database cannot be written: {0}")]
    Storage(Arc<DatabaseError>),
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
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds since 1970")]
        let issued = now() as u64;
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
            "jti": secret::random_text::<16>(),
        });
        let token = jsonwebtoken::encode(&header, &claims, &self.signing_key);
        token.expect("the signing key was used once when it was opened").into()
    }

    pub(super) fn key_set(&self) -> KeySet {
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
