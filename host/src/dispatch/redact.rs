//! Takes the caller's secrets out of everything that a call left behind.
//!
//! Invariant: what comes out of the sandbox goes through here first. Reply, log and traces are made
//! from what is returned here, and from nothing else.

use std::borrow::Cow;

use crate::capabilities::Trail;
use crate::capabilities::log::{Transcript, json_or_string};
use crate::outbound_auth::AttachedTokens;
use crate::redaction::Redactor;
use crate::sandbox::{CallError, Ended, Fault, Report, ToolError, ToolResult};
use crate::vault::UserSecrets;

/// Cleans a report of the caller's secrets, and of the tokens that the host has signed in with.
pub(super) fn report(mut report: Report, secrets: &UserSecrets, tokens: &AttachedTokens) -> Report {
    for redactor in [secrets.redactor(), &of_tokens(tokens)] {
        if !redactor.is_empty() {
            ended(redactor, &mut report.ended);
            transcript(redactor, &mut report.log);
        }
    }
    report
}

/// Cleans what a call wrote that was broken off.
pub(super) fn abandoned(trail: &Trail, secrets: &UserSecrets) -> Transcript {
    let mut written = trail.log.take();
    transcript(secrets.redactor(), &mut written);
    transcript(&of_tokens(&trail.tokens), &mut written);
    written
}

/// They are few, and mostly none.
fn of_tokens(tokens: &AttachedTokens) -> Redactor {
    Redactor::new(&tokens.values())
}

fn transcript(redactor: &Redactor, transcript: &mut Transcript) {
    for argument in transcript.entries.iter_mut().flat_map(|entry| &mut entry.arguments) {
        if let Cow::Owned(clean) = redactor.redact_json_text(argument.get()) {
            *argument = json_or_string(&clean);
        }
    }
}

fn ended(redactor: &Redactor, ended: &mut Ended) {
    match ended {
        Ended::Returned(ToolResult { text, structured }) => {
            redactor.redact_string(text);
            json(redactor, structured);
        }
        Ended::Refused(CallError::Tool(ToolError { message, retryable: _, data })) => {
            redactor.redact_string(message);
            json(redactor, data);
        }
        Ended::Refused(CallError::InvalidParams(text) | CallError::Failure(text))
        | Ended::Faulted(Fault::Trap(text)) => redactor.redact_string(text),
        Ended::Faulted(Fault::Deadline(_) | Fault::Limit(_) | Fault::ResultTooLarge) => {}
    }
}

fn json(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(Cow::Owned(clean)) = text.as_deref().map(|text| redactor.redact_json_text(text)) {
        *text = Some(clean);
    }
}
