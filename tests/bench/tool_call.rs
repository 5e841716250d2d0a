//! `tools/call` as sent by a client of the newest protocol revision.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::Prepared;

const REVISION: &str = "2026-07-28";

/// Prepares a tool call, with an access token if one is given.
pub(crate) fn tool_call(
    address: SocketAddr,
    token: Option<&str>,
    tool: &str,
    arguments: &Value,
) -> Outcome<Prepared> {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": REVISION,
                "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let mut request = Request::post("/mcp")
        .header(header::HOST, address.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", REVISION)
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool);
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    Ok(request.body(Full::new(Bytes::from(body.to_string())))?)
}
