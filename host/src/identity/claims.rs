//! The rules for a token's claims, once its signature is verified.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use super::error::invalid;
use super::origins::{self, Origins};
use super::token::Presence;
use super::{AuthError, Caller, SessionAudience, TokenProfile};

/// How far the issuer's clock may be ahead of ours, in seconds. `exp` has no such grace: an expired
/// token is renewed, not argued about.
const LEEWAY: f64 = 60.0;
/// The longest `sub` that `OpenID` Connect Core, section 2 allows, in bytes.
pub(crate) const MAX_SUBJECT_BYTES: usize = 255;

/// What an accepted token stands for.
#[derive(Debug)]
pub(super) struct Verified {
    pub(super) caller: Arc<Caller>,
    /// `azp`: for session tokens, the origin that the session belongs to.
    pub(super) authorized_party: Option<String>,
    /// `exp`, in seconds since 1970.
    pub(super) expires: f64,
}

/// What a token of this issuer, for this service, must say.
#[derive(Debug)]
pub(super) struct Rules {
    issuer: String,
    audiences: [String; 2],
    session_audience: SessionAudience,
}

/// What is read of the payload. A repeated member is an error, and so is one of the wrong type.
#[derive(Deserialize)]
pub(super) struct Claims {
    iss: String,
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    jti: Option<String>,
    /// `null` is no absent audience but a malformed one.
    #[serde(default, deserialize_with = "stated")]
    aud: Option<OneOrMany>,
    azp: Option<String>,
    client_id: Option<String>,
    scope: Option<OneOrMany>,
    token_use: Option<String>,
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

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl Rules {
    pub(super) fn new(issuer: &str, base_url: &str, session_audience: SessionAudience) -> Self {
        let base_url = base_url.trim_end_matches('/');
        Self {
            issuer: issuer.to_owned(),
            audiences: [format!("{base_url}/mcp"), base_url.to_owned()],
            session_audience,
        }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Judges verified claims at the time `now`, in seconds since 1970.
    pub(super) fn accept(
        &self,
        profile: TokenProfile,
        claims: Claims,
        origins: &Origins,
        now: f64,
    ) -> Result<Verified, AuthError> {
        if claims.iss != self.issuer {
            return Err(invalid("another issuer"));
        }
        check_times(&claims, now)?;
        if claims.sub.is_empty() || claims.sub.len() > MAX_SUBJECT_BYTES {
            return Err(invalid("an empty or overlong sub"));
        }
        // PostgreSQL has none in texts: it would be another user there.
        if claims.sub.contains('\0') {
            return Err(invalid("a sub with NUL"));
        }
        self.check_audience(profile, &claims, origins)?;
        match profile {
            TokenProfile::Session => check_session(&claims)?,
            TokenProfile::Access => check_access(&claims)?,
        }
        let caller = Caller {
            user_id: claims.sub,
            profile,
            client_id: claims.client_id.filter(|id| !id.is_empty()),
            scopes: claims.scope.map(OneOrMany::into_words).unwrap_or_default(),
        };
        Ok(Verified { caller: Arc::new(caller), authorized_party: claims.azp, expires: claims.exp })
    }

    fn check_audience(
        &self,
        profile: TokenProfile,
        claims: &Claims,
        origins: &Origins,
    ) -> Result<(), AuthError> {
        let Some(audience) = &claims.aud else {
            let optional =
                profile == TokenProfile::Session && self.session_audience == SessionAudience::Optional;
            if !optional {
                return Err(invalid("no aud"));
            }
            // Without aud, azp is all that tells this service's tokens from those of the
            // provider's other applications.
            let foreign = |party: &String| origins::is_origin(party) && !origins.contains(party);
            return if claims.azp.as_ref().is_some_and(foreign) {
                Err(invalid("no aud, and an azp that is not allowed"))
            } else {
                Ok(())
            };
        };
        if audience.iter().any(|name| self.audiences.iter().any(|own| own == name)) {
            Ok(())
        } else {
            Err(invalid("another audience"))
        }
    }
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

/// Refuses what shares the session token's `typ` and is something else.
///
/// An ID token says `JWT` too (RFC 7519 asks no more of it) and comes from the same keys, but it
/// tells a *client* who signed in; whoever runs that client could replay it here as the user. Its
/// `aud` is the client's identifier, so the audience check refuses it already, unless a client is
/// registered under this service's URL. The members that only the sign-in protocol defines
/// (`OpenID` Connect Core, sections 2 and 3.3.2.11) give it away in that case too, and so does
/// `token_use` where a provider labels its tokens. `events` marks logout and other security event
/// tokens (RFC 8417), which some providers also send as `JWT`.
fn check_session(claims: &Claims) -> Result<(), AuthError> {
    if [claims.nonce, claims.at_hash, claims.c_hash, claims.s_hash].contains(&Presence::Present) {
        return Err(invalid("an ID token"));
    }
    if claims.token_use.as_deref() == Some("id") {
        return Err(invalid("an ID token"));
    }
    if claims.events == Presence::Present {
        return Err(invalid("a security event token"));
    }
    Ok(())
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
    fn iter(&self) -> impl Iterator<Item = &str> {
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
