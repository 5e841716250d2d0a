//! What came of a call.

use std::fmt;

use serde_json::{Value, json};

use crate::error::CallError;
use crate::{Content, IngestDocument, Progress, Request, ToolResult};

/// What a model reads of a failure that is not meant for it.
const GENERIC_FAILURE: &str = "The tool failed.";

/// What came of a call: the envelope that a client receives, and what a test may see besides.
#[derive(Debug)]
pub struct Outcome {
    pub(super) ending: Ending,
    pub(super) log: Vec<Vec<Value>>,
    pub(super) progress: Vec<Progress>,
    pub(super) requests: Vec<Request>,
    pub(super) most_in_flight: usize,
    pub(super) ingested: Vec<IngestDocument>,
}

/// A failed call, as a client receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure {
    /// What kind of failure.
    pub code: ErrorCode,
    /// What the model reads.
    pub error: String,
    /// Whether trying again may help.
    pub retryable: bool,
}

/// The kinds of failure that a client tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// `TOOL_ERROR`: the tool ran and failed.
    ToolError,
    /// `INVALID_PARAMS`: the arguments do not fit; the handler never ran.
    InvalidParams,
}

impl Outcome {
    /// Whether the call succeeded.
    pub fn is_ok(&self) -> bool {
        self.ending.result.is_ok()
    }

    /// Returns what the model reads.
    ///
    /// # Panics
    /// When the call failed.
    #[track_caller]
    pub fn text(&self) -> &str {
        &self.result().text
    }

    /// Returns the structured value.
    ///
    /// # Panics
    /// When the call failed or returned none.
    #[track_caller]
    pub fn structured(&self) -> &Value {
        self.result().structured.as_ref().expect("the call returned a structured value")
    }

    /// Returns what the result holds beside the text.
    ///
    /// # Panics
    /// When the call failed.
    #[track_caller]
    pub fn content(&self) -> &[Content] {
        &self.result().content
    }

    /// Returns the failure.
    ///
    /// # Panics
    /// When the call succeeded.
    #[track_caller]
    pub fn failure(&self) -> &ToolFailure {
        match &self.ending.result {
            Ok(result) => panic!("the call succeeded with {:?}", result.text),
            Err(failure) => failure,
        }
    }

    /// Returns what the log keeps of a failure and the model does not see: the causes of an error
    /// that is no [`ToolError`](crate::ToolError), or the data of one that is.
    pub fn detail(&self) -> Option<&str> {
        self.ending.detail.as_deref()
    }

    /// Returns the entries that the handler logged, in order.
    pub fn log(&self) -> &[Vec<Value>] {
        &self.log
    }

    /// Returns what the handler reported of its progress, in order and without the host's limits.
    pub fn progress(&self) -> &[Progress] {
        &self.progress
    }

    /// Returns the requests that reached the upstream, in order; those that the declaration does
    /// not grant are not among them.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Returns how many requests were in flight at once, at most.
    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }

    /// Returns the documents that were ingested.
    pub fn ingested(&self) -> &[IngestDocument] {
        &self.ingested
    }

    /// Returns the envelope as JSON.
    pub fn to_json(&self) -> Value {
        match &self.ending.result {
            Ok(ToolResult { text, structured: None, .. }) => json!({ "ok": true, "text": text }),
            Ok(ToolResult { text, structured: Some(value), .. }) => {
                json!({ "ok": true, "text": text, "structured": value })
            }
            Err(ToolFailure { code, error, retryable }) => {
                json!({ "ok": false, "code": code.to_string(), "error": error, "retryable": retryable })
            }
        }
    }

    #[track_caller]
    fn result(&self) -> &ToolResult {
        match &self.ending.result {
            Ok(result) => result,
            Err(failure) => {
                let detail = self.ending.detail.as_deref().unwrap_or("no further detail");
                panic!("the call failed: {}: {} ({detail})", failure.code, failure.error)
            }
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::ToolError => "TOOL_ERROR",
            Self::InvalidParams => "INVALID_PARAMS",
        })
    }
}

/// How a call ended, and what only the log learns of it.
#[derive(Debug)]
pub(super) struct Ending {
    result: Result<ToolResult, ToolFailure>,
    detail: Option<String>,
}

impl Ending {
    pub(super) fn of(result: Result<ToolResult, CallError>) -> Self {
        let (code, error, retryable, detail) = match result {
            Ok(result) => return Self { result: Ok(result), detail: None },
            Err(CallError::Tool(error)) => (
                ErrorCode::ToolError,
                error.message().to_owned(),
                error.is_retryable(),
                error.log_data().map(Value::to_string),
            ),
            Err(CallError::InvalidParams(why)) => (ErrorCode::InvalidParams, why, false, None),
            Err(CallError::Failure(detail)) => {
                (ErrorCode::ToolError, GENERIC_FAILURE.to_owned(), false, Some(detail))
            }
        };
        Self { result: Err(ToolFailure { code, error, retryable }), detail }
    }
}
