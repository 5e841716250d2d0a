//! Messages of clients. Each is read once: into its kind, and the parameters of a request into those of its
//! method.

use std::borrow::Cow;

use axum::http::StatusCode;
use kitbag_base::json_object::JsonObject;
use kitbag_manifest::question::MAX_ANSWER_BYTES;
use kitbag_manifest::schema;
use rmcp::model::{
    CallToolRequestParams, CancelledNotificationParam, CompleteRequestParams, ErrorData,
    GetPromptRequestParams, InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams,
    RequestId, RequestMetaObject, RequestParamsMeta, SubscriptionsListenRequestParams,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::answer::TransportError;
use crate::body::Unread;

/// Limit of JSON values at any depth of a message: those of a call's arguments, and 1000 for the rest.
pub(super) const MAX_VALUES: usize = schema::MAX_VALUES + 1000;
/// Maximum bytes of a response that is read: an answer, and members that clients may send beside it.
const MAX_RESULT_BYTES: usize = MAX_ANSWER_BYTES + (8 << 10);

/// A well-formed JSON-RPC message.
#[derive(Debug)]
pub(super) enum Message {
    Request(Request),
    Notification(Notification),
    Response(ClientResponse),
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    /// Name of the method.
    pub(super) name: String,
    pub(super) method: Method,
    pub(super) meta: RequestMetaObject,
}

#[derive(Debug)]
pub(super) struct Notification {
    /// Name of the method.
    pub(super) name: String,
    /// The request that a `notifications/cancelled` names.
    pub(super) cancels: Option<RequestId>,
}

/// The response to a request of the server.
#[derive(Debug)]
pub(super) struct ClientResponse {
    /// Absent only in errors.
    pub(super) id: Option<RequestId>,
    /// The result as JSON text: `null` for an error. A result that is larger than any answer is truncated, and
    /// therefore no longer valid JSON.
    pub(super) result: String,
}

/// Methods of requests, with their parameters.
#[derive(Debug)]
pub(super) enum Method {
    /// `initialize`
    Initialize(Box<InitializeRequestParams>),
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `tools/list`
    ListTools(PaginatedRequestParams),
    /// `tools/call`
    CallTool(CallToolRequestParams),
    /// `prompts/list`
    ListPrompts(PaginatedRequestParams),
    /// `prompts/get`
    GetPrompt(GetPromptRequestParams),
    /// `resources/list`
    ListResources(PaginatedRequestParams),
    /// `resources/templates/list`
    ListTemplates(PaginatedRequestParams),
    /// `resources/read`
    ReadResource(ReadResourceRequestParams),
    /// `completion/complete`
    Complete(CompleteRequestParams),
    /// `subscriptions/listen`
    Listen(SubscriptionsListenRequestParams),
    /// One of these, with parameters that are not its own.
    Misfit,
    /// A method that this server does not have.
    Unknown,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Message {
    /// Reads a body. Of one with too many values, by `counted`, only the id is read.
    pub(super) fn read(body: &[u8], counted: Result<(), Unread>) -> Result<Self, TransportError> {
        const INVALID: &str = "not a valid MCP message";

        let JsonObject::<Members>(members) =
            serde_json::from_slice(body).map_err(|error| malformed(body, &error))?;
        let Members { jsonrpc, id, method, params, result, error } = members;
        if jsonrpc != "2.0" {
            return Err(invalid(id, "the member jsonrpc must be \"2.0\""));
        }
        if counted.is_err() {
            let why =
                format!("the message has more than {MAX_VALUES} values in it, the limit of this server");
            return Err(TransportError::invalid(StatusCode::PAYLOAD_TOO_LARGE, id, why));
        }
        let params = params.map_or("{}", RawValue::get);
        Ok(match (method, id, result, error) {
            (Some(name), Some(id), None, None) => match Method::read(&name, params) {
                Some((method, meta)) => Self::Request(Request { id, name: name.into_owned(), method, meta }),
                None => return Err(invalid(Some(id), INVALID)),
            },
            (Some(name), None, None, None) => match Notification::read(name.into_owned(), params) {
                Some(notification) => Self::Notification(notification),
                None => return Err(invalid(None, INVALID)),
            },
            (None, Some(id), Some(result), None) => {
                Self::Response(ClientResponse::new(Some(id), result.get()))
            }
            (None, id, None, Some(_error)) => Self::Response(ClientResponse::new(id, "null")),
            (None, id, None, None) => return Err(invalid(id, "the message has neither method nor result")),
            (_, id, _, _) => return Err(invalid(id, INVALID)),
        })
    }
}

impl Method {
    /// Reads parameters and metadata; `None` if they are not objects.
    fn read(name: &str, params: &str) -> Option<(Self, RequestMetaObject)> {
        match name {
            "initialize" => fitting(params, |it| Self::Initialize(Box::new(it))),
            "tools/list" => fitting(params, Self::ListTools),
            "tools/call" => fitting(params, Self::CallTool),
            "prompts/list" => fitting(params, Self::ListPrompts),
            "prompts/get" => fitting(params, Self::GetPrompt),
            "resources/list" => fitting(params, Self::ListResources),
            "resources/templates/list" => fitting(params, Self::ListTemplates),
            "resources/read" => fitting(params, Self::ReadResource),
            "completion/complete" => fitting(params, Self::Complete),
            "subscriptions/listen" => fitting(params, Self::Listen),
            "server/discover" => with_any(params, Self::Discover),
            "ping" => with_any(params, Self::Ping),
            _ => with_any(params, Self::Unknown),
        }
    }

    /// Name of the tool or prompt, or URI of the resource, that the request is for.
    pub(super) fn target(&self) -> Option<&str> {
        match self {
            Self::CallTool(params) => Some(&params.name),
            Self::GetPrompt(params) => Some(&params.name),
            Self::ReadResource(params) => Some(&params.uri),
            _ => None,
        }
    }
}

impl Notification {
    fn read(name: String, params: &str) -> Option<Self> {
        let JsonObject(Bare::<serde_json::Map<_, _>> { .. }) = serde_json::from_str(params).ok()?;
        // One without a valid id cancels nothing.
        let cancels = (name == "notifications/cancelled")
            .then(|| serde_json::from_str::<CancelledNotificationParam>(params).ok()?.request_id)
            .flatten();
        Some(Self { name, cancels })
    }
}

impl ClientResponse {
    fn new(id: Option<RequestId>, result: &str) -> Self {
        Self { id, result: result[..result.floor_char_boundary(MAX_RESULT_BYTES)].to_owned() }
    }
}

/// Parameters of which only the metadata is read.
#[derive(Deserialize)]
struct Bare<M> {
    #[serde(rename = "_meta")]
    meta: Option<M>,
}

/// Reads the parameters of a method.
fn fitting<T: DeserializeOwned + RequestParamsMeta>(
    params: &str,
    method: impl FnOnce(T) -> Method,
) -> Option<(Method, RequestMetaObject)> {
    let Ok(JsonObject(mut params)) = serde_json::from_str::<JsonObject<T>>(params) else {
        return with_any(params, Method::Misfit);
    };
    let meta = params.meta_mut().take().unwrap_or_default();
    Some((method(params), meta))
}

/// Reads the metadata of a method with any parameters.
fn with_any(params: &str, method: Method) -> Option<(Method, RequestMetaObject)> {
    let JsonObject(Bare { meta }) = serde_json::from_str(params).ok()?;
    Some((method, meta.unwrap_or_default()))
}

fn malformed(body: &[u8], error: &serde_json::Error) -> TransportError {
    const NO_OBJECT: &str = "a message is one JSON object of JSON-RPC 2.0, never a batch";
    const WRONG_MEMBER: &str =
        "of a message, id is a string or an integer, jsonrpc and method are strings, and each is there once";

    if error.classify() == Category::Data {
        let is_object = body.trim_ascii_start().starts_with(b"{");
        return invalid(None, if is_object { WRONG_MEMBER } else { NO_OBJECT });
    }
    let error = ErrorData::parse_error(format!("this is not JSON: {error}"), None);
    TransportError::new(StatusCode::BAD_REQUEST, None, error)
}

fn invalid(id: Option<RequestId>, why: &'static str) -> TransportError {
    TransportError::invalid(StatusCode::BAD_REQUEST, id, why)
}

/// Rejects `null`: a message without an id has no such member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
    RequestId::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind of a message, and what it is about; `None` if it is refused.
    fn kind(body: &str) -> Option<String> {
        Some(match Message::read(body.as_bytes(), Ok(())).ok()? {
            Message::Request(Request { method, .. }) => {
                let method = format!("{method:?}");
                method.split(['(', ' ']).next().expect("a name").to_owned()
            }
            Message::Notification(Notification { cancels, .. }) => format!("notified {cancels:?}"),
            Message::Response(ClientResponse { id, result }) => format!("response {id:?} {result}"),
        })
    }

    #[test]
    fn messages_are_told_apart() {
        for (members, expected) in [
            (r#""id":1,"method":"initialize""#, "Misfit"),
            (
                r#""id":1,"method":"initialize","params":{"protocolVersion":"1","capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#,
                "Initialize",
            ),
            (r#""id":"a","method":"subscriptions/listen","params":{"notifications":{}}"#, "Listen"),
            (r#""id":1,"method":"tools\u002flist""#, "ListTools"),
            (r#""id":1,"method":"tools/list","params":null"#, "ListTools"),
            (r#""id":1,"method":"tools/list","params":{"cursor":1}"#, "Misfit"),
            (r#""params":{"name":"a"},"method":"tools/call","id":1,"extra":[]"#, "CallTool"),
            (r#""id":1,"method":"tools/call""#, "Misfit"),
            (r#""id":1,"method":"tools/call","params":{"name":"a","arguments":[]}"#, "Misfit"),
            (r#""id":1,"method":"notifications/cancelled","params":{"requestId":7}"#, "Unknown"),
            (r#""id":1,"result":{}"#, "response Some(Number(1)) {}"),
            (r#""id":"a","error":{}"#, r#"response Some(String("a")) null"#),
            (r#""error":{}"#, "response None null"),
            (r#""method":"notifications/cancelled","params":{"requestId":7}"#, "notified Some(Number(7))"),
            (r#""method":"notifications/cancelled","params":{}"#, "notified None"),
            (r#""method":"notifications/x","params":{"requestId":7}"#, "notified None"),
        ] {
            assert_eq!(
                kind(&format!(r#"{{"jsonrpc":"2.0",{members}}}"#)).as_deref(),
                Some(expected),
                "{members}"
            );
        }
        for members in [
            r#""result":{}"#,
            r#""id":1,"method":"ping","result":{}"#,
            r#""id":1,"method":"ping","params":[]"#,
            r#""id":1,"method":"ping","params":{"_meta":7}"#,
            r#""method":"notifications/cancelled","params":[7]"#,
            r#""method":"notifications/x","params":{"_meta":7}"#,
            r#""id":1,"method":"ping","method":"ping""#,
        ] {
            assert_eq!(kind(&format!(r#"{{"jsonrpc":"2.0",{members}}}"#)), None, "{members}");
        }
        assert_eq!(kind(r#"["2.0",1,"tools/list",null,null,null]"#), None);
    }

    #[test]
    fn metadata_is_read_whether_or_not_the_parameters_fit() {
        for params in [r#""name":"a""#, r#""name":7"#] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{params},"_meta":{{"progressToken":7}}}}}}"#
            );
            let Ok(Message::Request(request)) = Message::read(body.as_bytes(), Ok(())) else {
                panic!("a request: {body}")
            };
            assert!(request.meta.get_progress_token().is_some(), "{body}");
        }
    }

    #[test]
    fn of_a_message_with_too_many_values_only_the_id_is_read() {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

        assert!(Message::read(body, Ok(())).is_ok());
        assert!(Message::read(body, Err(Unread::TooManyValues(MAX_VALUES))).is_err());
    }
}
