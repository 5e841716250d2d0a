//! Tokens and key sets.

use kitbag::fuzzing::identity::verify;
use serde_json::Value;

/// The public keys of an issuer. The private keys signed [`GENUINE`] and a few tokens of the corpus, and were
/// then discarded.
const KEYS: &str = include_str!("token/keys.json");
/// Every token that the issuer signed for this server, one per line.
const GENUINE: &str = include_str!("token/genuine.txt");
/// A time at which these are valid, in seconds since 1970.
const NOW: f64 = 1_900_000_010.0;

/// Input: a line with a key set (by default [`KEYS`]), and a token.
///
/// Checks that with the issuer's keys only tokens are accepted that the issuer signed for this server. With
/// other keys, a genuine token is accepted only if they include the key that signed it, with use for
/// signatures.
pub fn token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (keys, token) = text.split_once('\n').unwrap_or(("", text));
    if let Some(caller) = verify(KEYS.as_bytes(), token, NOW) {
        assert!(GENUINE.lines().any(|genuine| signed(genuine) == signed(token)), "accepted: {token}");
        assert_eq!(caller.user_id, "ana");
    }
    if !keys.is_empty() {
        for genuine in GENUINE.lines() {
            if verify(keys.as_bytes(), genuine, NOW).is_some() {
                assert!(has_key_of(keys, genuine), "{genuine} was accepted with {keys}");
            }
        }
    }
}

/// Returns the signed part of a token. The signature is left out because ECDSA signatures are malleable:
/// anyone can derive a second valid one.
fn signed(token: &str) -> Option<&str> {
    token.rsplit_once('.').map(|(signed, _)| signed)
}

fn has_key_of(keys: &str, genuine: &str) -> bool {
    let keys: Value = serde_json::from_str(keys).expect("a key set is JSON");
    let key_set: Value = serde_json::from_str(KEYS).expect("the keys are JSON");
    let keys = keys["keys"].as_array().expect("a key set is a list");
    let issued = key_set["keys"].as_array().expect("the keys are a list");
    issued.iter().filter(|key| verifies(key, genuine)).any(|issued| {
        keys.iter().any(|key| {
            // Members that are not of the key's type are ignored (RFC 7517, section 4).
            let is_same = |name: &str| issued.get(name).is_none_or(|value| key.get(name) == Some(value));
            let is_for_signatures = key.get("use").is_none_or(|it| it.is_null() || it == "sig");
            let names_other = key.get("alg").is_some_and(|it| it == "none" || it == "HS256");
            ["kty", "x", "y", "n", "e"].into_iter().all(is_same) && is_for_signatures && !names_other
        })
    })
}

/// Returns whether a genuine token was signed with this key of the issuer.
fn verifies(key: &Value, genuine: &str) -> bool {
    let alone = serde_json::json!({ "keys": [key] }).to_string();
    verify(alone.as_bytes(), genuine, NOW).is_some()
}
