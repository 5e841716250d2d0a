//! Headers that repeat what a message says, so that proxies need not read it; and the client that a request
//! describes by them and by its metadata.

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_manifest::ToolDefinition;
use rmcp::model::{ErrorData, ProtocolVersion, RequestMetaObject};
use serde_json::{Map, Value};

use super::calls::{Abilities, ClientLabel};
use super::message::{Method, Notification, Request};

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Schema member of parameters that are sent in a header too, whose name it has after `mcp-param-`.
const HEADER_MEMBER: &str = "x-mcp-header";

/// Revisions of the protocol, by the way in which clients declare themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Revision {
    /// 2026-07-28 or later: in each request.
    Current,
    /// Before 2026-07-28: in a handshake.
    Older,
}

/// The client of a request.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) revision: Revision,
    pub(super) abilities: Abilities,
    /// Only older revisions have it.
    pub(super) label: Option<ClientLabel>,
}

impl Client {
    /// Reads the client of a request. Fails if headers and message contradict each other, or lack what the
    /// revision requires.
    pub(super) fn of(headers: &HeaderMap, request: &Request) -> Result<Self, ErrorData> {
        let Request { name, method, meta, .. } = request;
        check_method(headers, name)?;
        if let Method::Initialize(params) = method {
            check_handshake(headers, &params.protocol_version)?;
            return Ok(Self::older(headers));
        }
        let is_discovery = matches!(method, Method::Discover);
        let Some(version) = meta.protocol_version() else {
            if known_revision(headers)? == Revision::Current || is_discovery {
                return Err(incomplete(meta));
            }
            return Ok(Self::older(headers));
        };
        if only(headers, &PROTOCOL_VERSION) != Some(version.as_str()) {
            let why = format!("MCP-Protocol-Version must be there once, and name {version} as _meta does");
            return Err(ErrorData::header_mismatch(why, None));
        }
        if !ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
            return Err(ErrorData::unsupported_protocol_version(version, ProtocolVersion::KNOWN_VERSIONS));
        }
        let capabilities = meta.client_capabilities();
        if version.has_initialize() && (!is_discovery || capabilities.is_some()) {
            return Ok(Self::older(headers));
        }
        let capabilities = capabilities.ok_or_else(|| incomplete(meta))?;
        require_method(headers)?;
        if let Some(target) = method.target() {
            expect(headers, &NAME, target)?;
        }
        Ok(Self { revision: Revision::Current, abilities: Abilities::of(&capabilities), label: None })
    }

    fn older(headers: &HeaderMap) -> Self {
        let label = ClientLabel::of(headers);
        let abilities = label.as_ref().map(ClientLabel::abilities).unwrap_or_default();
        Self { revision: Revision::Older, abilities, label }
    }
}

/// Fails if the headers of a notification contradict it, or lack what the revision requires.
pub(super) fn check_notification(headers: &HeaderMap, notification: &Notification) -> Result<(), ErrorData> {
    check_method(headers, &notification.name)?;
    match known_revision(headers)? {
        Revision::Current => require_method(headers),
        Revision::Older => Ok(()),
    }
}

/// Returns the revision that the headers name, by default an older one. Fails if nobody knows it.
pub(super) fn known_revision(headers: &HeaderMap) -> Result<Revision, ErrorData> {
    if !headers.contains_key(PROTOCOL_VERSION) {
        return Ok(Revision::Older);
    }
    let named = only(headers, &PROTOCOL_VERSION);
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| Some(known.as_str()) == named);
    match known {
        Some(version) if version.has_initialize() => Ok(Revision::Older),
        Some(_) => Ok(Revision::Current),
        None => Err(ErrorData::invalid_request("this server does not know this MCP-Protocol-Version", None)),
    }
}

/// Fails unless the parameters that a tool has in headers too are the same there.
pub(super) fn check_parameters(
    headers: &HeaderMap,
    tool: &ToolDefinition,
    arguments: Option<&Map<String, Value>>,
) -> Result<(), ErrorData> {
    check_properties(headers, &tool.input_schema, arguments)
}

fn check_properties(
    headers: &HeaderMap,
    schema: &Value,
    values: Option<&Map<String, Value>>,
) -> Result<(), ErrorData> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let value = values.and_then(|values| values.get(name));
        let header = schema.get(HEADER_MEMBER).and_then(Value::as_str).filter(|header| !header.is_empty());
        if let Some(header) = header.and_then(|it| HeaderName::try_from(format!("mcp-param-{it}")).ok()) {
            match value.and_then(header_text) {
                Some(text) => expect(headers, &header, &text)?,
                None if headers.contains_key(&header) => {
                    let why = format!("the header {header} has a value, and the parameter {name} has none");
                    return Err(ErrorData::header_mismatch(why, None));
                }
                None => {}
            }
        }
        check_properties(headers, schema, value.and_then(Value::as_object))?;
    }
    Ok(())
}

/// Text of a parameter in a header; `None` if it has none there.
fn header_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Fails if `Mcp-Method` is there and names another method than the message. In the older revisions and in the
/// handshake it may be absent, but proxies that know it go by it.
fn check_method(headers: &HeaderMap, method: &str) -> Result<(), ErrorData> {
    if !headers.contains_key(METHOD) || only(headers, &METHOD) == Some(method) {
        return Ok(());
    }
    let why = format!("the header Mcp-Method names another method than the message, {method:?}");
    Err(ErrorData::header_mismatch(why, None))
}

/// Fails without `Mcp-Method`; what it names has been checked.
fn require_method(headers: &HeaderMap) -> Result<(), ErrorData> {
    if headers.contains_key(METHOD) {
        return Ok(());
    }
    Err(ErrorData::header_mismatch("the header Mcp-Method is missing", None))
}

fn check_handshake(headers: &HeaderMap, version: &ProtocolVersion) -> Result<(), ErrorData> {
    let is_same = only(headers, &PROTOCOL_VERSION) == Some(version.as_str());
    if is_same || !headers.contains_key(PROTOCOL_VERSION) {
        return Ok(());
    }
    let why = "MCP-Protocol-Version names another version than protocolVersion of initialize";
    Err(ErrorData::invalid_request(why, None))
}

fn incomplete(meta: &RequestMetaObject) -> ErrorData {
    let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).join(", ");
    ErrorData::invalid_params(format!("_meta of the request lacks, or has malformed: {missing}"), None)
}

/// Fails unless a header is there once, with this value, which it may have in Base64.
fn expect(headers: &HeaderMap, header: &HeaderName, value: &str) -> Result<(), ErrorData> {
    if only(headers, header).and_then(decoded).is_some_and(|found| found == value) {
        return Ok(());
    }
    let why = format!("the header {header} must be there once, and say {value:?} as the message does");
    Err(ErrorData::header_mismatch(why, None))
}

/// Decodes a value that is in Base64, as `=?base64?…?=`.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => Some(value.into()),
    }
}

/// Returns the value of a header that occurs exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}
