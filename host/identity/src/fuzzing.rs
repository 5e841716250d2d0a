//! Entry points for `fuzz/`.

use std::sync::Arc;

use http::HeaderMap;

use super::algorithms::Algorithms;
use super::caller::Caller;
use super::claims::{LEEWAY, Rules};
use super::credential::Credential;
use super::groups::Groups;
use super::keys::KeySet;
use super::origins::Origins;
use super::settings::{SessionAudience, UntypedTokens};
use super::token::Token;

/// The issuer that [`verify`] trusts.
pub const ISSUER: &str = "https://id.example";
/// Base URL of the server that [`verify`] simulates.
pub const BASE_URL: &str = "https://kb.example";

/// Verifies a token against a provider's key set, like the token of a request at `now`, in seconds since
/// 1970.
pub fn verify(key_set: &[u8], token: &str, now: f64) -> Option<Arc<Caller>> {
    let keys = KeySet::parse(key_set, 0)?;
    let token = Token::parse(token, &Algorithms::default(), UntypedTokens::Accepted).ok()?;
    keys.verify(&token).ok()?;
    let rules = Rules::new(ISSUER, BASE_URL, &[], SessionAudience::Required, LEEWAY);
    let verified = rules.accept(token.kind, token.payload().ok()?, Groups::default(), &origins(), now);
    verified.ok().map(|verified| verified.caller)
}

/// Returns the token in a request's headers.
pub fn presented(headers: &HeaderMap) -> Option<&str> {
    Credential::from_headers(headers, &origins()).ok().map(|credential| credential.token)
}

fn origins() -> Origins {
    Origins::new(BASE_URL, &[]).expect("the base URL is one")
}
