//! The outcome of a call in a test.

use kitbag_manifest::ToolkitDefinition;
use kitbag_manifest::question::Question;
use kitbag_manifest::redaction::Redactor;
use kitbag_manifest::reply::{Failure, text_warning};
use kitbag_manifest::schema::Schema;
use kitbag_manifest::test_host::cache::Cached;
use kitbag_manifest::test_host::{Offered, check_offered, check_result};
use serde_json::{Value, json};

use super::call_result;
use super::clock::Clock;
use crate::error::CallError;
use crate::{
    ContentBlock, IngestDocument, Progress, PromptMessage, Request, ResourceBody, ResourceContents,
    ToolResult,
};

/// The outcome of a call: the envelope that a client receives, and details for assertions.
#[derive(Debug)]
pub struct Outcome {
    pub(super) call: CallOutcome,
    pub(super) log: Vec<Vec<Value>>,
    pub(super) progress: Vec<Progress>,
    pub(super) requests: Vec<Request>,
    pub(super) most_in_flight: usize,
    pub(super) ingested: Vec<IngestDocument>,
    pub(super) questions: Vec<Question>,
    pub(super) cached: Cached,
    pub(super) clock: Clock,
}

impl Outcome {
    /// Whether the call succeeded.
    pub fn is_ok(&self) -> bool {
        self.call.result.is_ok()
    }

    /// Returns the text for the model.
    ///
    /// # Panics
    /// If the call failed.
    #[track_caller]
    pub fn text(&self) -> &str {
        &self.result().text
    }

    /// Returns the structured value.
    ///
    /// # Panics
    /// If the call failed or returned no structured value.
    #[track_caller]
    pub fn structured(&self) -> &Value {
        self.result().structured.as_ref().expect("the call returned a structured value")
    }

    /// Returns the content of the result other than the text.
    ///
    /// # Panics
    /// If the call failed.
    #[track_caller]
    pub fn content(&self) -> &[ContentBlock] {
        &self.result().content
    }

    /// Returns the messages of a prompt.
    ///
    /// # Panics
    /// If the call failed, or its target was not a prompt.
    #[track_caller]
    pub fn messages(&self) -> &[PromptMessage] {
        match self.offered() {
            Offered::Messages(messages) => messages,
            other => panic!("the call returned {other:?}"),
        }
    }

    /// Returns the contents of a resource.
    ///
    /// # Panics
    /// If the call failed, or its target was not a resource.
    #[track_caller]
    pub fn contents(&self) -> &ResourceContents {
        match self.offered() {
            Offered::Contents(contents) => contents,
            other => panic!("the call returned {other:?}"),
        }
    }

    /// Returns the values of a completion.
    ///
    /// # Panics
    /// If the call failed, or was not a completion.
    #[track_caller]
    pub fn values(&self) -> &[String] {
        match self.offered() {
            Offered::Values(values) => values,
            other => panic!("the call returned {other:?}"),
        }
    }

    #[track_caller]
    fn offered(&self) -> &Offered {
        self.result();
        self.call.offered.as_ref().expect("the call was of a tool")
    }

    /// Returns a warning for the author of the tool, if there is one.
    pub(super) fn warning(&self, tool: &str) -> Option<String> {
        let text = self.call.result.as_ref().map_or(0, |result| result.text.len());
        text_warning(tool, text, self.call.declared.as_ref())
    }

    /// Returns the failure.
    ///
    /// # Panics
    /// If the call succeeded.
    #[track_caller]
    pub fn failure(&self) -> &Failure {
        match &self.call.result {
            Ok(result) => panic!("the call succeeded with {:?}", result.text),
            Err(failure) => failure,
        }
    }

    /// Returns the details of a failure that are logged and not shown to the model: the data of a
    /// [`ToolError`](crate::ToolError), or the causes of any other error.
    pub fn detail(&self) -> Option<&str> {
        self.call.detail.as_deref()
    }

    /// Returns the entries that the handler logged, in order.
    pub fn log(&self) -> &[Vec<Value>] {
        &self.log
    }

    /// Returns all progress reports of the handler, in order; the host's rate limit is not applied.
    pub fn progress(&self) -> &[Progress] {
        &self.progress
    }

    /// Returns the requests that reached the upstream, in order; requests that the declaration does not grant
    /// are not among them. They include what `auth` attached, and token requests.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Returns the maximum number of requests that were in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }

    /// Returns the documents that were ingested.
    pub fn ingested(&self) -> &[IngestDocument] {
        &self.ingested
    }

    /// Returns the questions to the user, in order. The handler ran again after each.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Returns the value for a key in the user's cache after the call.
    pub fn cached(&self, key: &str) -> Option<&str> {
        self.cached.peek(key, self.clock.now())
    }

    /// Returns the envelope as JSON. It has the structured value even if the tool declares no `output`; see
    /// [`to_call_result`](Self::to_call_result) for what clients receive.
    pub fn to_json(&self) -> Value {
        match &self.call.result {
            Ok(ToolResult { text, structured: None, .. }) => json!({ "ok": true, "text": text }),
            Ok(ToolResult { text, structured: Some(value), .. }) => {
                json!({ "ok": true, "text": text, "structured": value })
            }
            Err(failure) => serde_json::to_value(failure).expect("strings and booleans always serialise"),
        }
    }

    /// Returns the result of MCP's `tools/call` as a client receives it, as JSON.
    pub fn to_call_result(&self) -> String {
        call_result::of(&self.call.result, self.call.declared.as_ref())
    }

    #[track_caller]
    fn result(&self) -> &ToolResult {
        match &self.call.result {
            Ok(result) => result,
            Err(failure) => {
                let detail = self.call.detail.as_deref().unwrap_or("no further detail");
                panic!("the call failed: {}: {} ({detail})", failure.code, failure.error)
            }
        }
    }
}

/// Result of a call, with the detail for the log.
#[derive(Debug)]
pub(super) struct CallOutcome {
    result: Result<ToolResult, Failure>,
    /// Result of a call that is not of a tool.
    offered: Option<Offered>,
    /// The structured value, if the tool declares `output`.
    declared: Option<Value>,
    detail: Option<String>,
}

impl CallOutcome {
    /// Creates the outcome of a call that failed without a detail for the log.
    pub(super) fn of_failure(failure: Failure) -> Self {
        Self { result: Err(failure), offered: None, declared: None, detail: None }
    }

    /// Creates the outcome of a tool's handler. If the handler failed and the host could not sign in, the
    /// sign-in failure is the reply.
    pub(super) fn of(
        definition: &ToolkitDefinition,
        result: Result<ToolResult, CallError>,
        output: Option<&Schema>,
        sign_in: Option<Failure>,
    ) -> Self {
        let mut result = match result {
            Ok(result) => result,
            Err(error) => return Self::of_error(error, sign_in),
        };
        let structured = result.structured.as_ref().map(Value::to_string);
        let bytes = result.text.len();
        match check_result(definition, bytes, structured.as_deref(), &mut result.content, output) {
            Ok(declared) => Self { result: Ok(result), offered: None, declared, detail: None },
            Err(failure) => Self::of_failure(failure),
        }
    }

    /// Creates the outcome of the handler of the prompt or resource `name`, or of a completion; see [`of`](Self::of).
    pub(super) fn of_offered(
        definition: &ToolkitDefinition,
        name: &str,
        result: Result<Offered, CallError>,
        sign_in: Option<Failure>,
    ) -> Self {
        let mut offered = match result {
            Ok(offered) => offered,
            Err(error) => return Self::of_error(error, sign_in),
        };
        match check_offered(definition, name, 0, &mut offered) {
            Ok(()) => Self {
                result: Ok(ToolResult::default()),
                offered: Some(offered),
                declared: None,
                detail: None,
            },
            Err(failure) => Self::of_failure(failure),
        }
    }

    /// Removes secrets.
    pub(super) fn redact(&mut self, secrets: &Redactor) {
        match &mut self.result {
            Ok(ToolResult { text, structured, content, .. }) => {
                secrets.redact_string(text);
                if let Some(value) = structured {
                    secrets.redact_json(value);
                }
                for block in content {
                    block.redact(secrets);
                }
            }
            Err(failure) => secrets.redact_string(&mut failure.error),
        }
        match &mut self.offered {
            Some(Offered::Messages(messages)) => messages.iter_mut().for_each(|it| it.redact(secrets)),
            Some(Offered::Contents(ResourceContents { body: ResourceBody::Text(text), .. })) => {
                secrets.redact_string(text);
            }
            Some(Offered::Contents(ResourceContents { body: ResourceBody::Blob(bytes), .. })) => {
                secrets.redact_bytes(bytes);
            }
            Some(Offered::Values(values)) => values.iter_mut().for_each(|it| secrets.redact_string(it)),
            None => {}
        }
        if let Some(value) = &mut self.declared {
            secrets.redact_json(value);
        }
        if let Some(text) = &mut self.detail {
            secrets.redact_string(text);
        }
    }

    fn of_error(error: CallError, sign_in: Option<Failure>) -> Self {
        match error {
            CallError::Tool(error) => {
                let own = Failure::tool_error(error.message()).retryable(error.is_retryable());
                let detail = error.log_data().map(Value::to_string);
                Self { detail, ..Self::of_failure(sign_in.unwrap_or(own)) }
            }
            CallError::InvalidParams(why) => Self::of_failure(Failure::invalid_params(&[why])),
            CallError::Failure(detail) => {
                let failure = sign_in.unwrap_or_else(Failure::of_handler);
                Self { detail: Some(detail), ..Self::of_failure(failure) }
            }
        }
    }
}
