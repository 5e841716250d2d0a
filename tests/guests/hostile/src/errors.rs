//! Errors with details that the model must not see. Tests look for the words in capitals.

use guest_support::{CallError, Invocation, Outcome, ToolError};

pub(crate) fn failure(_: &Invocation) -> Outcome {
    let detail = "SECRET-DETAIL: no such table\n   0: handler\n      at /srv/toolkit/src/handler.rs:12:5";
    Err(CallError::Failure(detail.to_owned()))
}

pub(crate) fn tool_error(_: &Invocation) -> Outcome {
    Err(CallError::ToolError(ToolError {
        message: "The shop is closed.".to_owned(),
        retryable: true,
        data: Some(r#"{"upstream":"SECRET-DATA"}"#.to_owned()),
    }))
}

pub(crate) fn invalid_params(_: &Invocation) -> Outcome {
    Err(CallError::InvalidParams("/count: expected a number from 1 to 10".to_owned()))
}
