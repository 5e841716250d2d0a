//! Parses the members of a JSON-RPC message that the transport needs, before rmcp parses all of it.

use std::borrow::Cow;

use axum::http::StatusCode;
use kitbag_base::json_object::JsonObject;
use kitbag_manifest::{json, schema};
use rmcp::model::{ErrorData, RequestId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::answer::TransportError;
use super::calls::Abilities;

/// Limit of JSON values at any depth of a message: those of a call's arguments, and 1000 for the rest.
pub(super) const MAX_VALUES: usize = schema::MAX_VALUES + 1000;

/// A well-formed JSON-RPC message.
#[derive(Debug)]
pub(super) struct Envelope {
    /// Id of a request; `None` for notifications and responses.
    pub(super) id: Option<RequestId>,
    /// Method of a request or notification.
    pub(super) method: Option<String>,
    pub(super) message: Message,
}

/// Messages by the way the transport handles them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Handshake of the older revisions, with the client's capabilities.
    Initialize(Abilities),
    /// `subscriptions/listen`: the answer is a stream that stays open.
    Listen,
    /// The response to a request of the server with this id.
    Response(RequestId),
    /// `notifications/cancelled`, for the request with this id.
    Cancelled(RequestId),
    /// Any other message.
    Other,
}

impl Envelope {
    /// Parses the members that every message has.
    pub(super) fn parse(body: &[u8]) -> Result<Self, TransportError> {
        const NO_OBJECT: &str = "a message is one JSON object of JSON-RPC 2.0, never a batch";
        const WRONG_MEMBER: &str = "of a message, id is a string or an integer, jsonrpc and method are strings, and each is there once";

        let JsonObject::<Members>(members) = serde_json::from_slice(body).map_err(|error| {
            if error.classify() == Category::Data {
                let is_object = body.trim_ascii_start().starts_with(b"{");
                return invalid(None, if is_object { WRONG_MEMBER } else { NO_OBJECT });
            }
            let error = ErrorData::parse_error(format!("this is not JSON: {error}"), None);
            TransportError::new(StatusCode::BAD_REQUEST, None, error)
        })?;
        let Members { jsonrpc, id, method, result, error } = members;
        if jsonrpc != "2.0" {
            return Err(invalid(id, "the member jsonrpc must be \"2.0\""));
        }
        if json::measure(body, MAX_VALUES).values > MAX_VALUES {
            let why =
                format!("the message has more than {MAX_VALUES} values in it, the limit of this server");
            return Err(TransportError::invalid(StatusCode::PAYLOAD_TOO_LARGE, id, why));
        }
        let message = match method.as_deref() {
            Some("initialize") => initialize(body),
            Some("subscriptions/listen") => Message::Listen,
            Some("notifications/cancelled") => cancelled(body),
            Some(_) => Message::Other,
            None if result.is_some() || error.is_some() => {
                id.clone().map_or(Message::Other, Message::Response)
            }
            None => return Err(invalid(id, "the message has neither method nor result")),
        };
        Ok(Self { id, method: method.map(Cow::into_owned), message })
    }
}

/// Without valid capabilities, the client counts as having none.
fn initialize(body: &[u8]) -> Message {
    #[derive(Deserialize)]
    struct Request {
        params: JsonObject<Params>,
    }

    #[derive(Deserialize)]
    struct Params {
        capabilities: JsonObject<Capabilities>,
    }

    #[derive(Deserialize)]
    struct Capabilities {
        elicitation: JsonObject<Elicitation>,
    }

    #[derive(Deserialize)]
    struct Elicitation {
        url: Option<serde_json::Map<String, serde_json::Value>>,
        form: Option<serde_json::Map<String, serde_json::Value>>,
    }

    let abilities = serde_json::from_slice(body).map(|Request { params }| {
        let Elicitation { url, form } = params.0.capabilities.0.elicitation.0;
        // Until 2025-06-18 elicitation had only forms, and no member for them.
        Abilities { opens_links: url.is_some(), shows_forms: form.is_some() || url.is_none() }
    });
    Message::Initialize(abilities.unwrap_or_default())
}

/// A notification without a valid request id cancels nothing.
fn cancelled(body: &[u8]) -> Message {
    #[derive(Deserialize)]
    struct Notification {
        params: JsonObject<Params>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        request_id: RequestId,
    }

    serde_json::from_slice(body)
        .map_or(Message::Other, |Notification { params }| Message::Cancelled(params.0.request_id))
}

fn invalid(id: Option<RequestId>, why: &'static str) -> TransportError {
    TransportError::invalid(StatusCode::BAD_REQUEST, id, why)
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Rejects `null`: a message without an id has no such member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
    RequestId::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let message = |body: &str| Envelope::parse(body.as_bytes()).map(|envelope| envelope.message).ok();

        let plain = || Message::Initialize(Abilities::default());

        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, plain()),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{"url":{}}}}}"#,
                Message::Initialize(Abilities { opens_links: true, shows_forms: false }),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{"form":{}}}}}"#,
                Message::Initialize(Abilities { opens_links: false, shows_forms: true }),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{}}}}"#,
                Message::Initialize(Abilities { opens_links: false, shows_forms: true }),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":[]}}}"#,
                plain(),
            ),
            (r#"{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen"}"#, Message::Listen),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools\u002flist"}"#, Message::Other),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Message::Response(RequestId::Number(1))),
            (r#"{"jsonrpc":"2.0","id":"a","error":{}}"#, Message::Response(RequestId::String("a".into()))),
            (r#"{"jsonrpc":"2.0","result":{}}"#, Message::Other),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
                Message::Cancelled(RequestId::Number(7)),
            ),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#, Message::Other),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[7]}"#, Message::Other),
        ] {
            assert_eq!(message(body), Some(expected), "{body}");
        }
        assert_eq!(message(r#"["2.0",1,"tools/list",null,null]"#), None);
    }

    #[test]
    fn a_message_with_more_values_than_are_ever_checked_is_refused_before_they_are_built() {
        let call = |zeros: usize| {
            let zeros = "0,".repeat(zeros - 1);
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{{"a":[{zeros}0]}}}}}}"#
            )
        };

        assert!(Envelope::parse(call(schema::MAX_VALUES).as_bytes()).is_ok());
        assert!(Envelope::parse(call(MAX_VALUES).as_bytes()).is_err());
    }
}
