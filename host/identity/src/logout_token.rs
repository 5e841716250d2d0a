//! Logout tokens: the provider says that a user has signed out there (`OpenID` Connect Back-Channel Logout 1.0,
//! section 2.4).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::claims::{LEEWAY, OneOrMany, Rules, milliseconds};
use super::error::{AuthError, invalid};
use super::token::Presence;

/// Member of `events`.
const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// Seconds after which a token without `exp` expires: providers of before the final specification send none.
const LIFETIME: f64 = 120.0;

/// What a valid logout token says.
#[derive(Debug)]
pub(crate) struct Logout {
    /// Id of the user.
    pub(crate) user: String,
    /// Time until which sessions that end have begun, in milliseconds since 1970: when the token was issued. An upper
    /// bound, as the provider's clock may be behind this server's.
    pub(crate) begun_by: i64,
    audience: OneOrMany,
}

/// Parsed members of the payload. A repeated member, or one of the wrong type, is an error. `sid` is not read: sessions
/// here are not known by it.
#[derive(Deserialize)]
pub(super) struct LogoutClaims {
    iss: String,
    aud: OneOrMany,
    sub: Option<String>,
    oid: Option<String>,
    iat: f64,
    exp: Option<f64>,
    jti: String,
    events: Map<String, Value>,
    #[serde(default)]
    nonce: Presence,
}

impl Logout {
    /// Whether the token is for the client with this identifier.
    pub(crate) fn is_for(&self, client: &str) -> bool {
        self.audience.iter().any(|audience| audience == client)
    }
}

/// The `typ` that a logout token may have: `logout+jwt`, or, with older providers, `JWT` or none.
pub(super) fn expect_typ(typ: Option<&str>) -> Result<(), AuthError> {
    let known = ["logout+jwt", "application/logout+jwt", "JWT"];
    if typ.is_none_or(|typ| known.iter().any(|known| typ.eq_ignore_ascii_case(known))) {
        return Ok(());
    }
    Err(invalid("a typ that is not logout+jwt"))
}

/// Checks verified claims at the time `now`, in seconds since 1970.
pub(super) fn accept(rules: &Rules, claims: LogoutClaims, now: f64) -> Result<Logout, AuthError> {
    rules.expect_issuer(&claims.iss)?;
    if now >= claims.exp.unwrap_or(claims.iat + LIFETIME) {
        return Err(invalid("expired"));
    }
    if claims.iat > now + LEEWAY {
        return Err(invalid("issued in the future (iat)"));
    }
    if claims.jti.is_empty() {
        return Err(invalid("a logout token without jti"));
    }
    if !claims.events.get(EVENT).is_some_and(Value::is_object) {
        return Err(invalid("no event of a logout"));
    }
    // So that no ID token is one.
    if claims.nonce == Presence::Present {
        return Err(invalid("a logout token with a nonce"));
    }
    let user = rules.user_id(claims.sub, claims.oid)?;
    Ok(Logout { user, begun_by: milliseconds(claims.iat + LEEWAY), audience: claims.aud })
}
