//! Questions of tools in the middle of a call: elicitation in form mode.
//!
//! | revision | where the client declares support | what it receives | how the call continues |
//! |---|---|---|---|
//! | 2026-07-28 | `elicitation.form`, or `elicitation` without members, among the capabilities of the request | a result `input_required` with `requestState` | the same call with `inputResponses` and the state |
//! | 2025-11-25, 2025-06-18 | the same in `initialize` | a request `elicitation/create` in the stream of the call ([`conversation`](super::conversation)) | a response |
//!
//! Either way the handler is run again from its beginning, with all answers so far. A call that has run to its end
//! does not run again with the same state: a repeated request gets the same result while that is cached.

use std::fmt::Display;
use std::ops::ControlFlow;

use kitbag_access::values::database::DatabaseError;
use kitbag_access::values::dispatch::{Callee, Response};
use kitbag_access::{Asked, ResumedCall, Resumption, User};
use kitbag_base::shares::Shares;
use kitbag_base::visible;
use kitbag_manifest::question::{MAX_ANSWER_BYTES, Question};
use rmcp::model::{
    CallToolResult, ElicitRequest, ElicitRequestParams, ElicitationSchema, ErrorData, InputRequest,
    InputRequiredResult, InputResponses,
};
use serde_json::{Map, Value};
use tracing::error;

use super::tool_calls::{CallEnd, busy};

/// Limit per user of calls that wait for an answer in a stream.
const MAX_WAITING_CALLS_PER_USER: usize = 16;
/// Limit of such calls for all users. Each costs little more than a stream.
const MAX_WAITING_CALLS: usize = 4096;

/// Creates the limits of calls that wait for an answer in a stream.
pub(super) fn waiting_calls() -> Shares {
    Shares::new(MAX_WAITING_CALLS, MAX_WAITING_CALLS_PER_USER)
}

/// Restores the earlier questions of a call (current revision) and adds the client's new answer.
pub(super) fn asked_before(
    user: &User,
    callee: &Callee,
    arguments: &Map<String, Value>,
    (state, responses): (Option<&str>, Option<&mut InputResponses>),
) -> Result<Asked, ErrorData> {
    let Some(state) = state else { return Ok(Asked::default()) };
    let mut asked = user.open_asked(callee, arguments, state).ok_or_else(|| {
        ErrorData::invalid_params(
            "requestState was not made by this server for this call, this client and this version of the toolkit, or is \
             older than an hour; make the call again without it",
            None,
        )
    })?;
    let response = asked.waiting().and_then(|key| responses?.remove(key));
    if let Some(response) = response {
        asked.answer(read(&response)?);
    }
    Ok(asked)
}

/// Reads whether a call continues: the claimed call, or the result with which it has ended.
pub(super) fn resumed(
    resumption: Result<Resumption, DatabaseError>,
) -> Result<ControlFlow<CallToolResult, ResumedCall>, ErrorData> {
    let refused = |why: &str| {
        let message =
            format!("{why} To do it again, make the call without requestState: its user is asked again.");
        Err(ErrorData::invalid_params(message, None))
    };
    match resumption.map_err(|cause| unavailable(&cause))? {
        Resumption::Resumed(call) => Ok(ControlFlow::Continue(call)),
        Resumption::Ended(result) => {
            serde_json::from_str(&result).map(ControlFlow::Break).map_err(|cause| unavailable(&cause))
        }
        Resumption::Done => {
            refused("The call with this requestState was done already; its result is not kept.")
        }
        Resumption::Running => refused(
            "The call with this requestState is running, or was interrupted, so that what it did is not known.",
        ),
        Resumption::TooMany => Ok(ControlFlow::Break(busy())),
    }
}

/// Stores that a call that continued has ended, or that it may continue again.
pub(super) async fn end(call: ResumedCall, end: &Result<CallEnd, ErrorData>) {
    match end {
        Ok(CallEnd::Final(result)) => call.end(result).await,
        Ok(CallEnd::Open(_)) | Err(_) => call.release().await,
    }
}

fn unavailable(cause: &dyn Display) -> ErrorData {
    error!(%cause, "a call cannot continue with its user's answer");
    ErrorData::internal_error("the call cannot continue at the moment", None)
}

/// Result that asks the user; the sealed state contains the question.
pub(super) fn input_required(
    request: ElicitRequestParams,
    (key, state): (String, String),
) -> InputRequiredResult {
    let requests = [(key, InputRequest::Elicitation(ElicitRequest::new(request)))];
    InputRequiredResult::new(Some(requests.into()), Some(state))
}

/// Elicitation request for a question. The message names the toolkit, and loses empty lines that could push
/// the name out of view; hidden characters become visible.
pub(super) fn form(toolkit: &str, question: &Question) -> Result<ElicitRequestParams, ErrorData> {
    let shown = visible::lines(&question.message);
    let lines = shown.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let message = format!("The toolkit {toolkit} asks: {}", lines.collect::<Vec<_>>().join("\n"));
    let mut schema = Value::Object(question.schema.clone());
    show(&mut schema);
    for field in schema["properties"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        show(field);
    }
    let mut requested_schema: ElicitationSchema = serde_json::from_value(schema).map_err(|cause| {
        error!(toolkit.id = toolkit, %cause, "a question has no form");
        ErrorData::internal_error("the tool asks what cannot be shown as a form", None)
    })?;
    requested_schema.property_order = Some(question.order.clone());
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Makes hidden characters visible in the texts of a form or field. Values that are sent back unchanged have
/// none.
fn show(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    for (name, value) in members {
        match (name.as_str(), value) {
            ("title", Value::String(text)) => *text = visible::line(text).into_owned(),
            ("description", Value::String(text)) => *text = visible::lines(text).into_owned(),
            _ => {}
        }
    }
}

/// Parses a client's response. One that neither accepts nor declines counts as cancelled.
pub(super) fn read(response: &Value) -> Result<Response, ErrorData> {
    match response["action"].as_str() {
        Some("accept") => {
            let content = response["content"].as_object().cloned().unwrap_or_default();
            let size = serde_json::to_string(&content).map_or(usize::MAX, |text| text.len());
            if size > MAX_ANSWER_BYTES {
                return Err(too_large());
            }
            Ok(Response::Accepted(content))
        }
        Some("decline") => Ok(Response::Declined),
        _ => Ok(Response::Cancelled),
    }
}

/// Error for an answer that exceeds the size limit.
pub(super) fn too_large() -> ErrorData {
    ErrorData::invalid_params(format!("an answer may have up to {MAX_ANSWER_BYTES} bytes"), None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_is_a_yes_only_where_it_says_so() {
        let read = |response: Value| read(&response).expect("it is small");
        let fields = json!({ "city": "Oslo" });

        assert_eq!(
            read(json!({ "action": "accept", "content": fields })),
            Response::Accepted(fields.as_object().cloned().expect("fields"))
        );
        assert_eq!(read(json!({ "action": "accept" })), Response::Accepted(Map::new()));
        assert_eq!(read(json!({ "action": "decline", "content": fields })), Response::Declined);
        for other in
            [json!({}), json!({ "action": "cancel" }), json!({ "action": 1 }), json!(7), json!("accept")]
        {
            assert_eq!(read(other), Response::Cancelled);
        }
    }

    #[test]
    fn a_large_answer_is_refused() {
        let answer = json!({ "action": "accept", "content": { "a": "x".repeat(MAX_ANSWER_BYTES) } });
        assert!(read(&answer).is_err());
    }

    #[test]
    fn a_question_says_who_asks_and_hides_nothing() {
        let schema = json!({
            "type": "object",
            "title": "\u{7}",
            "properties": {
                "sure": { "type": "boolean", "title": "\u{1b}[2J", "description": "a\u{202e}b" },
                "again": { "type": "boolean" },
            },
        });
        let message = format!("{}Kitbag asks:\u{1b}]0;owned\u{7}\n\n \nenter", "\n".repeat(500));
        let question = Question::check("k", &message, &schema.to_string()).expect("it keeps the rules");

        let form = form("notes", &question).expect("a form");

        let text = serde_json::to_value(&form).expect("it serialises");
        assert_eq!(text["message"], "The toolkit notes asks: Kitbag asks:\\u{1b}]0;owned\\u{7}\nenter");
        let text = serde_json::to_string(&form).expect("it serialises");
        assert!(!visible::has_hidden(&text) && !text.contains("\\u001b"), "{text}");
    }

    #[test]
    fn the_fields_of_a_form_are_in_the_authors_order() {
        let schema = r#"{"type":"object","properties":{"z":{"type":"boolean"},"a":{"type":"boolean"}}}"#;
        let question = Question::check("k", "Sure?", schema).expect("it keeps the rules");

        let form = serde_json::to_string(&form("notes", &question).expect("a form")).expect("it serialises");

        assert!(form.find("\"z\"") < form.find("\"a\""), "{form}");
    }
}
