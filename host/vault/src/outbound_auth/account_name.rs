//! Name of a connected account, as its provider says: from the ID token, or from a document of the API.
//!
//! It is text for people that whoever runs the API chooses: it has a maximum length and no control characters, and decides
//! nothing.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use http::{Request, StatusCode};
use http_body_util::Full;
use kitbag_manifest::AccountName;
use kitbag_net::egress::{Egress, Policy};
use serde_json::Value;
use tracing::info;

use super::request::{host_of, uri};
use super::token::Token;

/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Maximum size of the document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 256 << 10;
/// Time limit of the request, for which the user's browser waits.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Claims that name a user, the first of which counts (OpenID Connect Core 1.0, section 5.1).
const CLAIMS: [&str; 4] = ["/preferred_username", "/email", "/name", "/sub"];

/// Returns the name in an ID token. Its signature is not verified: it comes from the token endpoint over TLS (OpenID Connect
/// Core 1.0, section 3.1.3.7).
pub(super) fn of_id_token(token: &str) -> Option<String> {
    let payload = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    CLAIMS.iter().find_map(|claim| name_at(&claims, claim))
}

/// Asks the API for the name, without following redirects. `None` if it does not say it.
pub(super) async fn ask(
    declared: &AccountName,
    token: &Token,
    egress: &Egress,
    policy: &Policy,
) -> Option<String> {
    let mut request = Request::new(Full::<Bytes>::default());
    *request.uri_mut() = uri(&declared.url).ok()?;
    request.headers_mut().insert(AUTHORIZATION, token.header());
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    let answer = egress.exchange(request, policy, MAX_DOCUMENT_BYTES, REQUEST_TIMEOUT).await;
    let document = match answer {
        Ok(answer) if answer.status() == StatusCode::OK => {
            serde_json::from_slice::<Value>(answer.body()).ok()
        }
        Ok(answer) => {
            info!(host = host_of(&declared.url), status = %answer.status(), "an API does not say whose account it is");
            None
        }
        Err(cause) => {
            info!(host = host_of(&declared.url), %cause, "an API cannot be asked whose account it is");
            None
        }
    };
    name_at(&document?, &declared.pointer)
}

/// Returns the text or the number at a JSON pointer, if it can be a name.
fn name_at(document: &Value, pointer: &str) -> Option<String> {
    let text = match document.pointer(pointer)? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let is_name = !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.chars().any(char::is_control);
    is_name.then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> String {
        let [header, claims] = [json!({ "alg": "none" }), claims.clone()]
            .map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        format!("{header}.{claims}.")
    }

    #[test]
    fn an_id_token_names_its_user_by_the_first_claim_that_is_a_name() {
        for (claims, name) in [
            (
                json!({ "sub": "1", "name": "Ana", "email": "ana@crm", "preferred_username": "ana" }),
                Some("ana"),
            ),
            (json!({ "sub": "1", "email": " ana@crm " }), Some("ana@crm")),
            (json!({ "sub": "1", "email": "", "name": null }), Some("1")),
            (json!({ "sub": 7 }), Some("7")),
            (json!({ "email": "a\u{1b}[2J", "name": "x".repeat(201), "sub": ["a"] }), None),
            (json!({}), None),
            (json!([]), None),
        ] {
            assert_eq!(of_id_token(&token(&claims)).as_deref(), name, "{claims}");
        }
        for broken in ["", "a", "a.b.c", "a.!.c", "..", "a.bnVsbA.c"] {
            assert_eq!(of_id_token(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_name_is_a_short_text_without_control_characters() {
        let document =
            json!({ "a": { "b/c": "ana" }, "line": "a\nb", "long": "é".repeat(101), "flag": true });
        assert_eq!(name_at(&document, "/a/b~1c").as_deref(), Some("ana"));
        for pointer in ["/line", "/long", "/flag", "/a", "/none", ""] {
            assert_eq!(name_at(&document, pointer), None, "{pointer}");
        }
    }
}
