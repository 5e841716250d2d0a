//! Fast path for requests that can be answered without rmcp's service: `tools/call` and `tools/list`.
//!
//! For each request rmcp starts two tasks and passes messages through channels between them. For a short
//! call, that takes longer than the rest of the transport, so a usual call goes directly to its tool, and a
//! usual list is answered from the encoded cache.
//!
//! Invariant: such a request gets the same bytes as from rmcp. A request with anything unusual (other
//! members, other headers, a progress token, an unknown revision, a mistake) is left to rmcp.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderName};
use kitbag_base::json_object::JsonObject;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ProtocolVersion, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::PROTOCOL_VERSION;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Prefix of headers that carry a tool's parameters.
const PARAMETER_PREFIX: &str = "mcp-param-";

/// A request that is eligible for the fast path.
#[derive(Debug)]
pub(super) struct DirectRequest {
    pub(super) id: RequestId,
    pub(super) method: DirectMethod,
    /// Capabilities of the client, in the current revision. `None` in older ones.
    pub(super) capabilities: Option<ClientCapabilities>,
}

/// Method of a direct request, with its parameters.
#[derive(Debug)]
pub(super) enum DirectMethod {
    /// `tools/call`
    Call(CallToolRequestParams),
    /// `tools/list`
    List {
        /// Start of the page.
        cursor: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: JsonObject<Params<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    name: Option<String>,
    arguments: Option<Map<String, Value>>,
    cursor: Option<String>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<JsonObject<Meta<'a>>>,
}

/// Client metadata in a request of 2026-07-28.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Cow<'a, str>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    _client: Option<IgnoredAny>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: ClientCapabilities,
}

impl DirectRequest {
    /// Parses a request whose number of values has been limited. Returns `None` if rmcp must answer it.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let JsonObject::<Message>(Message { jsonrpc, id, method, params }) =
            serde_json::from_slice(body).ok()?;
        let JsonObject(Params { name, arguments, cursor, meta }) = params;
        let capabilities = match meta {
            Some(meta) => Some(current_capabilities(headers, meta.0, &method, name.as_deref())?),
            None if is_older(headers) && !contradicts(headers, &method) => None,
            None => return None,
        };
        let method = match (&*method, name, arguments, cursor) {
            ("tools/call", Some(name), arguments, None) => {
                let mut params = CallToolRequestParams::new(name);
                params.arguments = arguments;
                DirectMethod::Call(params)
            }
            ("tools/list", None, None, cursor) => DirectMethod::List { cursor },
            _ => return None,
        };
        (jsonrpc == "2.0").then_some(Self { id, method, capabilities })
    }
}

/// Returns the client's capabilities if the headers match the body, as 2026-07-28 requires.
fn current_capabilities(
    headers: &HeaderMap,
    meta: Meta<'_>,
    method: &str,
    tool: Option<&str>,
) -> Option<ClientCapabilities> {
    let version = ProtocolVersion::V_2026_07_28;
    let has_headers = only(headers, &PROTOCOL_VERSION) == Some(version.as_str())
        && only(headers, &METHOD) == Some(method)
        && only(headers, &NAME) == tool
        && headers.contains_key(NAME) == tool.is_some()
        && !has_parameters(headers);
    (has_headers && meta.version == version.as_str()).then_some(meta.capabilities)
}

/// Whether `Mcp-Method` is there and names another method than the body. In the older revisions and in the
/// handshake it may be absent, but proxies that know it go by it.
pub(super) fn contradicts(headers: &HeaderMap, method: &str) -> bool {
    headers.contains_key(&METHOD) && only(headers, &METHOD) != Some(method)
}

/// Whether the headers are those of a revision before 2026-07-28.
pub(super) fn is_older(headers: &HeaderMap) -> bool {
    let version = match only(headers, &PROTOCOL_VERSION) {
        Some(version) => version,
        None if headers.contains_key(&PROTOCOL_VERSION) => return false,
        None => return true,
    };
    let current = ProtocolVersion::V_2026_07_28;
    version < current.as_str()
        && ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version)
}

/// Returns the value of a header that occurs exactly once.
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
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "text__count")];

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    fn message(meta: &Value) -> Value {
        let mut params = json!({ "name": "text__count", "arguments": { "text": "a" } });
        if !meta.is_null() {
            params["_meta"] = meta.clone();
        }
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    }

    fn list(params: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": params })
    }

    fn current_meta() -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    }

    fn is_direct(headers: &HeaderMap, message: &Value) -> bool {
        DirectRequest::read(headers, message.to_string().as_bytes()).is_some()
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
    fn usual_lists_of_every_revision_are_answered_directly() {
        let current = [CURRENT[0], ("mcp-method", "tools/list")];
        let params = json!({ "_meta": current_meta(), "cursor": "x" });
        let older = headers(&[("mcp-protocol-version", "2025-11-25")]);

        assert!(is_direct(&headers(&current), &list(&params)));
        assert!(is_direct(&older, &list(&json!({}))) && is_direct(&older, &list(&json!({ "cursor": "x" }))));
        assert!(is_direct(&older, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })));
        assert!(!is_direct(&headers(&CURRENT), &list(&params)), "the headers are those of a call");
        assert!(!is_direct(&headers(&[current[0], current[1], ("mcp-name", "x")]), &list(&params)));
        for odd in [json!({ "name": "x" }), json!({ "arguments": {} }), json!({ "cursor": 1 }), Value::Null] {
            assert!(!is_direct(&older, &list(&odd)), "{odd}");
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
            changed(&|it| it["params"]["name"] = "text__diff".into()),
            changed(&|it| it["params"]["inputResponses"] = json!({})),
            changed(&|it| it["params"]["cursor"] = "x".into()),
            changed(&|it| it["params"] = json!(["text__count", {}, null, current_meta()])),
            changed(&|it| it["params"]["arguments"] = json!([])),
            changed(&|it| it["params"]["_meta"]["progressToken"] = 1.into()),
            changed(&|it| {
                it["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2025-11-25".into();
            }),
            changed(&|it| it["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = 1.into()),
            changed(&|it| it["params"]["_meta"] = json!({})),
            changed(&|it| it["params"]["_meta"] = json!(["2026-07-28", {}, {}])),
            json!(["2.0", 1, "tools/call", message(&current_meta())["params"]]),
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
            vec![CURRENT[0], CURRENT[1], ("mcp-name", "text__diff")],
            vec![CURRENT[0], CURRENT[2], ("mcp-method", "tools/list")],
        ] {
            assert!(!is_direct(&headers(&current), &message(&current_meta())), "{current:?}");
        }
        let mut twice = headers(&CURRENT);
        twice.append(METHOD, HeaderValue::from_static("tools/call"));
        assert!(!is_direct(&twice, &message(&current_meta())));
        for version in ["2026-07-28", "2024-01-01", "x"] {
            assert!(
                !is_direct(&headers(&[("mcp-protocol-version", version)]), &message(&Value::Null)),
                "{version}"
            );
        }
    }
}
