//! MCP messages: an accepted message is read as by any other JSON-RPC parser.

use kitbag::fuzzing::web::{Reading, message as read};
use serde_json::Value;

/// Input: the body of a request to `/mcp`.
///
/// Checks that an accepted message is one JSON-RPC object, with the id and the cancelled request that a plain
/// JSON parser finds in it. A refusal is a JSON-RPC error with the id of the message, or without an id.
pub fn message(data: &[u8]) {
    let plain = serde_json::from_slice::<Value>(data);
    match read(data) {
        Reading::Message { id, cancels } => {
            // Malformed content of a member is detected by its method, which parses it.
            let Ok(plain) = plain else { return };
            assert!(plain.is_object(), "{plain} was accepted");
            assert_eq!(plain.get("jsonrpc"), Some(&Value::from("2.0")));
            assert!(is_same(plain.get("id"), id.as_ref()), "{plain} is read as {id:?}");
            assert!(id.is_none_or(|id| id.is_string() || id.is_number()), "{plain}");
            let is_call = plain.get("method").is_some_and(Value::is_string);
            assert!(is_call || plain.get("result").is_some() || plain.get("error").is_some(), "{plain}");
            if let Some(request) = cancels {
                assert_eq!(plain["method"], "notifications/cancelled");
                assert!(
                    is_same(plain.pointer("/params/requestId"), Some(&request)),
                    "{plain} cancels {request}"
                );
            }
        }
        Reading::Refusal { status, body } => {
            assert!((400..500).contains(&status), "refused with {status}");
            let answer: Value = serde_json::from_slice(&body).expect("a refusal is JSON");
            assert_eq!(answer["jsonrpc"], "2.0");
            assert!(answer["error"]["code"].is_i64() && answer["error"]["message"].is_string(), "{answer}");
            let id = answer.get("id").filter(|id| !id.is_null());
            if let (Some(id), Ok(plain)) = (id, plain) {
                assert!(is_same(Some(id), plain.get("id")), "the refusal of {plain} is for {id}");
            }
        }
    }
}

/// Compares two values; the same number may be written as `1000` or `1e3`.
fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    one == other || (number(one).is_some() && number(one) == number(other))
}
