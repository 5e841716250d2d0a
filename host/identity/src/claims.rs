//! Rules for the claims of a token with a verified signature.

use std::sync::Arc;

use kitbag_database::ERASED_USER;
use serde::{Deserialize, Deserializer};

use super::caller::{Caller, TokenProfile};
use super::error::AuthError;
use super::error::invalid;
use super::groups::Groups;
use super::origins::{self, Origins};
use super::settings::{SessionAudience, UserIdClaim};
use super::token::{Presence, TokenKind};

/// Tolerated clock skew for `nbf` and `iat`, in seconds. `exp` has none: clients renew expired tokens.
pub(super) const LEEWAY: f64 = 60.0;
/// Maximum length of `sub` in bytes (`OpenID` Connect Core, section 2).
pub const MAX_SUBJECT_BYTES: usize = 255;

/// Result of verifying a token.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) caller: Arc<Caller>,
    /// `azp`: for session tokens, the origin that the session belongs to.
    pub(super) authorized_party: Option<String>,
    /// `exp`, in seconds since 1970.
    pub(super) expires: f64,
}

/// Claims expected of a token of this issuer for this service.
#[derive(Debug)]
pub(super) struct Rules {
    issuer: String,
    /// This service's URLs, with and without a slash at the end.
    own: [String; 4],
    /// Other audiences that the operator lists.
    listed: Vec<String>,
    session_audience: SessionAudience,
    /// Seconds by which the issuer's clock may be ahead of this server's.
    skew: f64,
    user_id: UserIdClaim,
}

/// Match between a token's audience and this service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Audience {
    /// One of this service's URLs.
    Own,
    /// An audience that the operator lists, such as a client identifier at the provider. ID tokens of that
    /// client have the same audience.
    Listed,
    /// No `aud`.
    Unstated,
}

/// Parsed members of the payload. A repeated member, or one of the wrong type, is an error.
#[derive(Deserialize)]
pub(super) struct Claims {
    iss: String,
    sub: String,
    /// Entra's id of the user in its directory.
    oid: Option<String>,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    jti: Option<String>,
    /// `null` is malformed, not absent.
    #[serde(default, deserialize_with = "stated")]
    aud: Option<OneOrMany>,
    azp: Option<String>,
    client_id: Option<String>,
    /// Okta's name of `client_id`.
    cid: Option<String>,
    /// `client_id` in Entra's v1.0 tokens.
    appid: Option<String>,
    scope: Option<OneOrMany>,
    /// `scope` in tokens of Entra and Okta.
    scp: Option<OneOrMany>,
    token_use: Option<String>,
    /// Keycloak's token type, such as `ID`.
    typ: Option<String>,
    #[serde(default)]
    sid: Presence,
    #[serde(default)]
    nonce: Presence,
    #[serde(default)]
    at_hash: Presence,
    #[serde(default)]
    c_hash: Presence,
    #[serde(default)]
    s_hash: Presence,
    #[serde(default)]
    events: Presence,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Rules {
    pub(super) fn new(
        issuer: &str,
        base_url: &str,
        listed: &[String],
        session_audience: SessionAudience,
        skew: f64,
    ) -> Self {
        let base_url = base_url.trim_end_matches('/');
        let own = ["/mcp", "", "/", "/mcp/"].map(|path| format!("{base_url}{path}"));
        Self {
            issuer: issuer.to_owned(),
            own,
            listed: listed.to_vec(),
            session_audience,
            skew,
            user_id: UserIdClaim::Sub,
        }
    }

    /// Sets the claim with the user's id.
    pub(super) fn naming_users_by(self, user_id: UserIdClaim) -> Self {
        Self { user_id, ..self }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Checks verified claims at the time `now`, in seconds since 1970. `groups` are passed through.
    pub(super) fn accept(
        &self,
        kind: TokenKind,
        claims: Claims,
        groups: Groups,
        origins: &Origins,
        now: f64,
    ) -> Result<Verified, AuthError> {
        self.expect_issuer(&claims.iss)?;
        check_times(&claims, now)?;
        let user_id = self.user_id(Some(claims.sub.clone()), claims.oid.clone())?;
        let audience = self.audience(kind, &claims, origins)?;
        let profile = match kind {
            TokenKind::AccessToken => {
                check_access(&claims)?;
                TokenProfile::Access
            }
            TokenKind::Jwt => {
                check_session(&claims)?;
                if audience == Audience::Listed {
                    check_evidence(&claims)?;
                }
                TokenProfile::Session
            }
            TokenKind::Untyped => {
                check_session(&claims)?;
                check_evidence(&claims)?;
                TokenProfile::Access
            }
        };
        let caller = Caller {
            profile,
            client_id: claims.client().map(str::to_owned),
            key: None,
            issued_at: claims.iat.map_or(i64::MIN, |iat| milliseconds(iat - self.skew)),
            scopes: claims.scope.or(claims.scp).map(OneOrMany::into_words).unwrap_or_default(),
            user_id,
            toolkits: None,
            groups,
        };
        Ok(Verified { caller: Arc::new(caller), authorized_party: claims.azp, expires: claims.exp })
    }

    /// Refuses a token of another issuer.
    pub(super) fn expect_issuer(&self, issuer: &str) -> Result<(), AuthError> {
        if issuer == self.issuer {
            return Ok(());
        }
        Err(unexpected("another issuer", self.issuer.clone(), issuer))
    }

    /// Returns the user's id, from the claim that the operator has chosen.
    pub(super) fn user_id(&self, sub: Option<String>, oid: Option<String>) -> Result<String, AuthError> {
        let id = match self.user_id {
            UserIdClaim::Sub => sub.ok_or(invalid("no sub"))?,
            UserIdClaim::Oid => oid.ok_or(invalid("no oid (setting `user-id-claim`)"))?,
        };
        if id.is_empty() || id.len() > MAX_SUBJECT_BYTES {
            return Err(invalid("an empty or overlong sub"));
        }
        if id == ERASED_USER {
            return Err(invalid("a reserved sub"));
        }
        // PostgreSQL text cannot contain NUL, so the id would change in the database.
        if id.contains('\0') {
            return Err(invalid("a sub with NUL"));
        }
        Ok(id)
    }

    fn audience(&self, kind: TokenKind, claims: &Claims, origins: &Origins) -> Result<Audience, AuthError> {
        let Some(audience) = &claims.aud else { return self.without_audience(kind, claims, origins) };
        let is_in = |names: &[String]| audience.iter().any(|name| names.iter().any(|known| known == name));
        if is_in(&self.own) {
            Ok(Audience::Own)
        } else if is_in(&self.listed) {
            Ok(Audience::Listed)
        } else {
            let found = audience.iter().collect::<Vec<_>>().join(", ");
            Err(unexpected("another audience (aud)", self.expected_audiences(), &found))
        }
    }

    /// Checks a token without `aud` by the client that it was issued to; a session token also by its origin.
    fn without_audience(
        &self,
        kind: TokenKind,
        claims: &Claims,
        origins: &Origins,
    ) -> Result<Audience, AuthError> {
        if claims.client().is_some_and(|client| self.listed.iter().any(|listed| listed == client)) {
            return Ok(Audience::Listed);
        }
        let optional = kind == TokenKind::Jwt && self.session_audience == SessionAudience::Optional;
        if !optional {
            let found = format!("none, of the client {:?}", claims.client().unwrap_or_default());
            return Err(unexpected("no aud", self.expected_audiences(), &found));
        }
        // Without aud, only azp distinguishes this service's tokens from those of the provider's other
        // applications.
        let foreign = |party: &String| origins::is_origin(party) && !origins.contains(party);
        if claims.azp.as_ref().is_some_and(foreign) {
            Err(invalid("no aud, and an azp that is not allowed"))
        } else {
            Ok(Audience::Unstated)
        }
    }

    fn expected_audiences(&self) -> String {
        let [mcp, base, ..] = &self.own;
        [mcp, base].into_iter().chain(&self.listed).map(String::as_str).collect::<Vec<_>>().join(" or ")
    }
}

impl Claims {
    /// The client that the token was issued to, from the claim that the provider uses.
    fn client(&self) -> Option<&str> {
        let azp = self.azp.as_ref().filter(|party| !origins::is_origin(party));
        let named = [self.client_id.as_ref(), self.cid.as_ref(), self.appid.as_ref(), azp];
        named.into_iter().flatten().map(String::as_str).find(|id| !id.is_empty())
    }
}

pub(super) fn milliseconds(seconds: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
    {
        (seconds * 1000.0) as i64
    }
}

/// Builds an error with the expected and the actual value, for the log: clipped, without control characters.
fn unexpected(reason: &'static str, expected: String, found: &str) -> AuthError {
    const MAX_CHARACTERS: usize = 200;

    let found = found.chars().filter(|character| !character.is_control()).take(MAX_CHARACTERS).collect();
    AuthError::Unexpected { reason, expected, found }
}

fn check_times(claims: &Claims, now: f64) -> Result<(), AuthError> {
    if now >= claims.exp {
        return Err(invalid("expired"));
    }
    if claims.nbf.is_some_and(|nbf| nbf > now + LEEWAY) {
        return Err(invalid("not valid yet (nbf)"));
    }
    if claims.iat.is_some_and(|iat| iat > now + LEEWAY) {
        return Err(invalid("issued in the future (iat)"));
    }
    Ok(())
}

/// Refuses ID tokens and security event tokens, which may share the session token's `typ`.
///
/// An ID token also has the `typ` `JWT` (RFC 7519 requires no more) and is signed with the same keys, but it
/// tells a *client* who signed in: the client's operator could replay it here as the user. Its `aud` is the
/// client's identifier, so the audience check refuses it, unless a client is registered under this service's
/// URL or the operator lists the client's identifier. In those cases it is recognised by members that only
/// `OpenID` Connect defines (Core, sections 2 and 3.3.2.11), and by `token_use` or `typ` where a provider
/// labels its tokens. `events` marks logout tokens and other security event tokens (RFC 8417), which some
/// providers also send as `JWT`.
fn check_session(claims: &Claims) -> Result<(), AuthError> {
    if [claims.nonce, claims.at_hash, claims.c_hash, claims.s_hash].contains(&Presence::Present) {
        return Err(invalid("an ID token"));
    }
    if claims.token_use.as_deref() == Some("id") || claims.typ.as_deref() == Some("ID") {
        return Err(invalid("an ID token"));
    }
    if claims.events == Presence::Present {
        return Err(invalid("a security event token"));
    }
    Ok(())
}

/// Requires evidence of an access token where neither `typ` nor the audience excludes an ID token.
///
/// Evidence is `token_use` `access`, a scope, or `sid` with `jti`: an ID token has neither scopes nor this
/// `token_use`. `WorkOS` access tokens have no scopes, but a `jti`, which its ID tokens lack.
fn check_evidence(claims: &Claims) -> Result<(), AuthError> {
    let has_scopes =
        claims.scope.as_ref().or(claims.scp.as_ref()).is_some_and(|scopes| scopes.iter().next().is_some());
    let is_of_session = claims.sid == Presence::Present && claims.jti.is_some();
    if claims.token_use.as_deref() == Some("access") || has_scopes || is_of_session {
        return Ok(());
    }
    let expected = "token_use \"access\", scope, scp, or sid with jti".to_owned();
    Err(unexpected("nothing shows that it is an access token", expected, "none of them"))
}

/// Requires what RFC 9068, section 2.2 requires beyond the claims checked for every token.
fn check_access(claims: &Claims) -> Result<(), AuthError> {
    if claims.client_id.as_deref().is_none_or(str::is_empty) {
        return Err(invalid("an access token without client_id"));
    }
    if claims.jti.as_deref().is_none_or(str::is_empty) {
        return Err(invalid("an access token without jti"));
    }
    if claims.iat.is_none() {
        return Err(invalid("an access token without iat"));
    }
    Ok(())
}

impl OneOrMany {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
        .iter()
        .map(String::as_str)
    }

    /// Scopes are one string with spaces (RFC 8693, section 4.2); some providers send a list.
    fn into_words(self) -> Vec<String> {
        self.iter().flat_map(str::split_ascii_whitespace).map(str::to_owned).collect()
    }
}

fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OneOrMany>, D::Error> {
    OneOrMany::deserialize(deserializer).map(Some)
}
