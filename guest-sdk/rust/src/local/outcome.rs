//! The outcome of a call in a test.

use kitbag_manifest::content;
use kitbag_manifest::limits::DEFAULT_RESULT_MIB;
use kitbag_manifest::question::Question;
use kitbag_manifest::reply::{Failure, check_structured, text_warning};
use kitbag_manifest::schema::Schema;
use serde_json::{Value, json};

use super::cache::Cached;
use super::call_result;
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
        self.cached.get(key)
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

/// Result of a prompt, a resource or a completion.
#[derive(Debug)]
pub(super) enum Offered {
    Messages(Vec<PromptMessage>),
    Contents(ResourceContents),
    Values(Vec<String>),
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

impl Offered {
    fn size(&self) -> usize {
        match self {
            Self::Messages(messages) => messages.iter().map(PromptMessage::size).sum(),
            Self::Contents(ResourceContents { body: ResourceBody::Text(text), .. }) => text.len(),
            Self::Contents(ResourceContents { body: ResourceBody::Blob(bytes), .. }) => bytes.len(),
            Self::Values(values) => values.iter().map(String::len).sum(),
        }
    }
}

impl CallOutcome {
    /// Creates the outcome of a call that failed without a detail for the log.
    pub(super) fn of_failure(failure: Failure) -> Self {
        Self { result: Err(failure), offered: None, declared: None, detail: None }
    }

    /// Creates the outcome of a tool's handler. If the handler failed and the host could not sign in, the
    /// sign-in failure is the reply.
    pub(super) fn of(
        result: Result<ToolResult, CallError>,
        output: Option<&Schema>,
        sign_in: Option<Failure>,
    ) -> Self {
        match result {
            Ok(result) => Self::of_result(result, output),
            Err(error) => Self::of_error(error, sign_in),
        }
    }

    /// Creates the outcome of the handler of a prompt, a resource or a completion; see [`of`](Self::of).
    pub(super) fn of_offered(result: Result<Offered, CallError>, sign_in: Option<Failure>) -> Self {
        match result {
            Ok(offered) => {
                let problem = match &offered {
                    Offered::Messages(messages) => content::messages_problem(messages),
                    Offered::Contents(_) | Offered::Values(_) => None,
                };
                if offered.size() > DEFAULT_RESULT_MIB << 20 {
                    Self::of_failure(Failure::result_too_large())
                } else if let Some(problem) = problem {
                    Self::of_failure(Failure::invalid_content(&problem))
                } else {
                    let result = Ok(ToolResult::default());
                    Self { result, offered: Some(offered), declared: None, detail: None }
                }
            }
            Err(error) => Self::of_error(error, sign_in),
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

    fn of_result(result: ToolResult, output: Option<&Schema>) -> Self {
        let structured = result.structured.as_ref().map(Value::to_string);
        let size = result.text.len()
            + structured.as_ref().map_or(0, String::len)
            + result.content.iter().map(ContentBlock::size).sum::<usize>();
        if size > DEFAULT_RESULT_MIB << 20 {
            return Self::of_failure(Failure::result_too_large());
        }
        if let Some(problem) = content::problem(&result.content) {
            return Self::of_failure(Failure::invalid_content(&problem));
        }
        match check_structured(output, structured.as_deref()) {
            Ok(declared) => Self { result: Ok(result), offered: None, declared, detail: None },
            Err(failure) => Self::of_failure(failure),
        }
    }
}
