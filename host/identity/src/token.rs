//! The outer form of a token: a compact JWS (RFC 7515, section 3.1) with an acceptable header.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};

use super::algorithms::Algorithms;
use super::error::invalid;
use super::{AuthError, UntypedTokens};

/// A token whose signature has yet to be verified.
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    /// What the signature is over: header, dot, payload.
    pub(super) signed: &'a str,
    pub(super) signature: &'a str,
    payload: &'a str,
}

/// What is read of the JWS header. `jku`, `jwk`, `x5u` and `x5c` are left out on purpose: with
/// them, the bearer would choose the key that vouches for the bearer. A repeated member is an error.
#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    /// Present in any form, even one that RFC 7515 forbids.
    #[serde(default)]
    crit: Presence,
}

impl<'a> Token<'a> {
    /// Splits the token and judges its header. `untyped` says whether it may have no `typ`.
    pub(super) fn parse(
        compact: &'a str,
        algorithms: &Algorithms,
        untyped: UntypedTokens,
    ) -> Result<Self, AuthError> {
        let (signed, signature) = compact.rsplit_once('.').ok_or(invalid("no JWS"))?;
        let (header, payload) = signed.split_once('.').ok_or(invalid("no JWS"))?;
        if payload.contains('.') {
            return Err(invalid("no JWS of three parts"));
        }
        let header: Header = decode(header)?;
        if header.crit == Presence::Present {
            return Err(invalid("a crit header"));
        }
        let algorithm = algorithms.accept(&header.alg).ok_or(invalid("an algorithm that is not accepted"))?;
        let kind = match header.typ.as_deref() {
            Some(typ) => kind(typ)?,
            None if untyped == UntypedTokens::Accepted => TokenKind::Untyped,
            None => return Err(invalid("no typ; the setting accept-untyped-tokens accepts such tokens")),
        };
        Ok(Self { kind, algorithm, key_id: header.kid, signed, signature, payload })
    }

    /// Decodes the claims; to be called once the signature is verified.
    pub(super) fn payload<T: DeserializeOwned>(&self) -> Result<T, AuthError> {
        decode(self.payload)
    }
}

/// Whether a JSON member is there at all; its value, `null` included, does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Presence {
    #[default]
    Absent,
    Present,
}

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self::Present)
    }
}

/// What the header says that a token is (RFC 8725, section 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `JWT`: a session token; of some providers also an access token, or an ID token.
    Jwt,
    /// `at+jwt`: an access token (RFC 9068).
    AccessToken,
    /// Without `typ`: of some providers an access token, or an ID token.
    Untyped,
}

fn kind(typ: &str) -> Result<TokenKind, AuthError> {
    if typ.eq_ignore_ascii_case("JWT") {
        Ok(TokenKind::Jwt)
    } else if typ.eq_ignore_ascii_case("at+jwt") || typ.eq_ignore_ascii_case("application/at+jwt") {
        Ok(TokenKind::AccessToken)
    } else {
        Err(invalid("a typ that is neither JWT nor at+jwt"))
    }
}

fn decode<T: DeserializeOwned>(part: &str) -> Result<T, AuthError> {
    let json = URL_SAFE_NO_PAD.decode(part).map_err(|_| invalid("malformed base64url"))?;
    serde_json::from_slice(&json).map_err(|_| invalid("malformed JSON"))
}
