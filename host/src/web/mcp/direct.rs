//! Recognises `tools/call` requests that can be answered without rmcp's service.
//!
//! For each request rmcp starts two tasks and passes messages through channels between them. That takes longer than
//! the rest of the transport does for a short call, so the usual call goes straight to its tool.
//!
//! Invariant: such a call gets the bytes that rmcp would respond with. A request with anything unusual (other members,
//! other headers, a progress token, an unknown revision, a mistake) is left to rmcp.

use axum::http::{HeaderMap, HeaderName};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, JsonObject, ProtocolVersion, RequestId, RequestMetaObject,
};
use serde::Deserialize;

use super::PROTOCOL_VERSION;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Prefix of the headers that carry parameters of a tool.
const PARAMETER_PREFIX: &str = "mcp-param-";
const TOOLS_CALL: &str = "tools/call";

/// A `tools/call` request without anything unusual.
#[derive(Debug)]
pub(super) struct DirectCall {
    pub(super) id: RequestId,
    pub(super) params: CallToolRequestParams,
    /// What the client can do, in the current revision. `None` in the older ones.
    pub(super) capabilities: Option<ClientCapabilities>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    jsonrpc: String,
    id: RequestId,
    method: String,
    params: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    name: String,
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

impl DirectCall {
    /// Reads a request. Returns `None` if rmcp must answer it.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let Message { jsonrpc, id, method, params } = serde_json::from_slice(body).ok()?;
        if jsonrpc != "2.0" || method != TOOLS_CALL {
            return None;
        }
        let capabilities = match &params.meta {
            Some(meta) => Some(current_capabilities(headers, meta, &params.name)?),
            None if is_older(headers) => None,
            None => return None,
        };
        let Params { name, arguments, .. } = params;
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments;
        Some(Self { id, params, capabilities })
    }
}

/// The capabilities in a request of 2026-07-28 whose headers match it.
fn current_capabilities(
    headers: &HeaderMap,
    meta: &RequestMetaObject,
    tool: &str,
) -> Option<ClientCapabilities> {
    const KEYS: [&str; 3] = [
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/clientCapabilities",
    ];

    let version = ProtocolVersion::V_2026_07_28;
    let has_usual_keys = meta.0.0.keys().all(|key| KEYS.contains(&key.as_str()));
    let has_headers = [(&PROTOCOL_VERSION, version.as_str()), (&METHOD, TOOLS_CALL), (&NAME, tool)]
        .into_iter()
        .all(|(name, value)| only(headers, name).is_some_and(|it| it == value));
    if !has_usual_keys || !has_headers || has_parameters(headers) || meta.protocol_version()? != version {
        return None;
    }
    meta.client_capabilities()
}

/// Whether the headers are those of a revision before 2026-07-28.
fn is_older(headers: &HeaderMap) -> bool {
    let version = match only(headers, &PROTOCOL_VERSION) {
        Some(version) => version,
        None if headers.contains_key(&PROTOCOL_VERSION) => return false,
        None => return true,
    };
    let current = ProtocolVersion::V_2026_07_28;
    version < current.as_str()
        && ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version)
}

/// The value of a header that occurs once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

fn has_parameters(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with(PARAMETER_PREFIX))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use serde_json::{Value, json};

    use super::*;

    const CURRENT: [(&str, &str); 3] =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", TOOLS_CALL), ("mcp-name", "text__count")];

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    fn message(meta: &Value) -> Value {
        let mut params = json!({ "name": "text__count", "arguments": { "text": "a" } });
        if !meta.is_null() {
            params["_meta"] = meta.clone();
        }
        json!({ "jsonrpc": "2.0", "id": 1, "method": TOOLS_CALL, "params": params })
    }

    fn current_meta() -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    }

    fn is_direct(headers: &HeaderMap, message: &Value) -> bool {
        DirectCall::read(headers, message.to_string().as_bytes()).is_some()
    }

    #[test]
    fn usual_calls_of_every_revision_are_answered_directly() {
        assert!(is_direct(&headers(&CURRENT), &message(&current_meta())));
        assert!(is_direct(&HeaderMap::new(), &message(&Value::Null)));
        for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            assert!(
                is_direct(&headers(&[("mcp-protocol-version", version)]), &message(&Value::Null)),
                "{version}"
            );
        }
    }

    #[test]
    fn messages_with_anything_unusual_are_left_to_rmcp() {
        let changed = |change: &dyn Fn(&mut Value)| {
            let mut message = message(&current_meta());
            change(&mut message);
            message
        };

        for message in [
            changed(&|it| it["jsonrpc"] = "1.0".into()),
            changed(&|it| it["method"] = "tools/list".into()),
            changed(&|it| it["id"] = Value::Null),
            changed(&|it| it["extra"] = 1.into()),
            changed(&|it| it["params"]["name"] = "text__slug".into()),
            changed(&|it| it["params"]["inputResponses"] = json!({})),
            changed(&|it| it["params"]["arguments"] = json!([])),
            changed(&|it| it["params"]["_meta"]["progressToken"] = 1.into()),
            changed(&|it| {
                it["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2025-11-25".into();
            }),
            changed(&|it| it["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = 1.into()),
            changed(&|it| it["params"]["_meta"] = json!({})),
            message(&Value::Null),
        ] {
            assert!(!is_direct(&headers(&CURRENT), &message), "{message}");
        }
    }

    #[test]
    fn headers_that_do_not_match_are_left_to_rmcp() {
        let without = |name: &str| CURRENT.into_iter().filter(|(it, _)| *it != name).collect::<Vec<_>>();
        let with = |more: &[(&'static str, &'static str)]| [&CURRENT[..], more].concat();

        for current in [
            without("mcp-protocol-version"),
            without("mcp-method"),
            without("mcp-name"),
            with(&[("mcp-param-text", "a")]),
            vec![CURRENT[0], CURRENT[1], ("mcp-name", "text__slug")],
            vec![CURRENT[0], CURRENT[2], ("mcp-method", "tools/list")],
        ] {
            assert!(!is_direct(&headers(&current), &message(&current_meta())), "{current:?}");
        }
        let mut twice = headers(&CURRENT);
        twice.append(METHOD, HeaderValue::from_static(TOOLS_CALL));
        assert!(!is_direct(&twice, &message(&current_meta())));
        for version in ["2026-07-28", "2024-01-01", "x"] {
            assert!(
                !is_direct(&headers(&[("mcp-protocol-version", version)]), &message(&Value::Null)),
                "{version}"
            );
        }
    }
}
