//! Parsing of a token: a compact JWS (RFC 7515, section 3.1) with an acceptable header.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};

use super::algorithms::Algorithms;
use super::error::AuthError;
use super::error::invalid;
use super::settings::UntypedTokens;

/// A token whose signature has yet to be verified, of a kind that its `typ` says.
pub(super) struct Token<'a, K = TokenKind> {
    pub(super) kind: K,
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    /// Signed text: header, dot, payload.
    pub(super) signed: &'a str,
    pub(super) signature: &'a str,
    payload: &'a str,
}

/// Parsed members of the JWS header. `jku`, `jwk`, `x5u` and `x5c` are deliberately ignored: with them, the
/// bearer could choose the key that verifies the token. A repeated member is an error.
#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    /// Presence of `crit` in any form, even one that RFC 7515 forbids.
    #[serde(default)]
    crit: Presence,
}

impl<'a> Token<'a> {
    /// Parses a token that a caller presents. `untyped`: treatment of a header without `typ`.
    pub(super) fn parse(
        compact: &'a str,
        algorithms: &Algorithms,
        untyped: UntypedTokens,
    ) -> Result<Self, AuthError> {
        Token::parse_kind(compact, algorithms, |typ| match typ {
            Some(typ) => kind(typ),
            None if untyped == UntypedTokens::Accepted => Ok(TokenKind::Untyped),
            None => Err(invalid("no typ; the setting accept-untyped-tokens accepts such tokens")),
        })
    }
}

impl<'a, K> Token<'a, K> {
    /// Splits the token and checks its header; `kind` judges the header's `typ`.
    pub(super) fn parse_kind(
        compact: &'a str,
        algorithms: &Algorithms,
        kind: impl FnOnce(Option<&str>) -> Result<K, AuthError>,
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
        let kind = kind(header.typ.as_deref())?;
        Ok(Self { kind, algorithm, key_id: header.kid, signed, signature, payload })
    }

    /// Decodes the claims. Call only after the signature was verified.
    pub(super) fn payload<T: DeserializeOwned>(&self) -> Result<T, AuthError> {
        decode(self.payload)
    }
}

/// Presence of a JSON member, whatever its value, `null` included.
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

/// Kind of token by the header's `typ` (RFC 8725, section 3.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// `JWT`: a session token; with some providers also an access token or an ID token.
    Jwt,
    /// `at+jwt`: an access token (RFC 9068).
    AccessToken,
    /// No `typ`: with some providers an access token or an ID token.
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
