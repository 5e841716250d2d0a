//! Takes the caller's secrets out of everything that a call left behind.
//!
//! Invariant: what comes out of the sandbox goes through here first. Reply, log and traces are made
//! from what is returned here, and from nothing else.

use std::borrow::Cow;

use crate::capabilities::Trail;
use crate::capabilities::log::{Transcript, json_or_string};
use crate::capabilities::progress::ProgressReport;
use crate::outbound_auth::AttachedTokens;
use crate::redaction::Redactor;
use crate::sandbox::{
    CallError, Content, EmbeddedResource, Ended, Fault, Media, Report, ResourceBody, ResourceLink, ToolError,
    ToolResult,
};
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

/// Cleans what a client is told while the call goes on.
pub(super) fn progress(
    mut report: ProgressReport,
    secrets: &UserSecrets,
    tokens: &AttachedTokens,
) -> ProgressReport {
    optional(secrets.redactor(), &mut report.message);
    optional(&of_tokens(tokens), &mut report.message);
    report
}

fn ended(redactor: &Redactor, ended: &mut Ended) {
    match ended {
        Ended::Returned(ToolResult { text, structured, content: blocks }) => {
            redactor.redact_string(text);
            json(redactor, structured);
            for block in blocks {
                content(redactor, block);
            }
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

fn content(redactor: &Redactor, content: &mut Content) {
    match content {
        Content::Image(Media { data, media_type }) | Content::Audio(Media { data, media_type }) => {
            bytes(redactor, data);
            redactor.redact_string(media_type);
        }
        Content::Resource(EmbeddedResource { uri, media_type, body }) => {
            redactor.redact_string(uri);
            optional(redactor, media_type);
            match body {
                ResourceBody::Text(text) => redactor.redact_string(text),
                ResourceBody::Blob(blob) => bytes(redactor, blob),
            }
        }
        Content::ResourceLink(ResourceLink { uri, name, title, description, media_type, size: _ }) => {
            redactor.redact_string(uri);
            redactor.redact_string(name);
            for text in [title, description, media_type] {
                optional(redactor, text);
            }
        }
    }
}

/// Bytes that are text are treated as text; others have no places where a value could be seen.
fn bytes(redactor: &Redactor, bytes: &mut Vec<u8>) {
    if let Ok(Cow::Owned(clean)) = str::from_utf8(bytes).map(|text| redactor.redact(text)) {
        *bytes = clean.into_bytes();
    }
}

fn optional(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(text) = text {
        redactor.redact_string(text);
    }
}

fn json(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(Cow::Owned(clean)) = text.as_deref().map(|text| redactor.redact_json_text(text)) {
        *text = Some(clean);
    }
}
