//! The contract's export `tools`: calls, and the declaration. The module `offers` has the other exports.

use rquickjs::function::Rest;
use rquickjs::promise::PromiseState;
use rquickjs::{CatchResultExt, Ctx, Function, Object, Result, Value};

use super::bindings::exports::kitbag::toolkit::tools;
use super::event_loop;
use super::exports::{manifest, with_toolkit};
use super::record::{list, required, text};
use super::rejections;
use crate::values::{Bytes, Text};

/// The component's export.
pub(super) struct Component;

impl tools::Guest for Component {
    fn describe() -> String {
        manifest()
    }

    fn call(invocation: tools::Invocation) -> std::result::Result<tools::ToolResult, tools::CallError> {
        let tools::Invocation { tool, arguments, user_id, config } = invocation;
        answer(["tool".to_owned(), tool, arguments, user_id, config], |value| {
            Ok(tools::ToolResult {
                text: required(value, "text")?,
                structured: text(value, "structured")?,
                content: list::<Object>(value, "content")?.iter().map(block).collect::<Result<_>>()?,
            })
        })
    }
}

/// Result of a call.
pub(super) type Outcome<T> = std::result::Result<T, tools::CallError>;

/// Calls the toolkit's function with the parts of an invocation; `read` converts its return value.
pub(super) fn answer<T, const PARTS: usize>(
    parts: [String; PARTS],
    read: impl for<'js> Fn(&Object<'js>) -> Result<T>,
) -> Outcome<T> {
    with_toolkit(|ctx, call| match outcome(ctx, &call, parts, &read).catch(ctx) {
        Ok(outcome) => Ok(outcome),
        // Not from a handler: the SDK converts exceptions of handlers to failures.
        Err(caught) => Ok(Err(tools::CallError::Failure(caught.to_string()))),
    })
    .unwrap_or_else(|error| Err(tools::CallError::Failure(error.to_string())))
}

/// Calls the toolkit's function, and waits for its promise.
fn outcome<'js, T, const PARTS: usize>(
    ctx: &Ctx<'js>,
    call: &Function<'js>,
    parts: [String; PARTS],
    read: &impl Fn(&Object<'js>) -> Result<T>,
) -> Result<Outcome<T>> {
    let returned: Value = call.call((Rest(parts.into()),))?;
    let Some(promise) = returned.as_promise() else {
        return from_variant(&returned.get()?, read);
    };
    let is_settled = event_loop::run(ctx, || promise.state() != PromiseState::Pending);
    let rejected = rejections::log_unhandled();
    if !is_settled {
        let why =
            "the handler waits for a promise that nothing can settle: no timer and no request is under way";
        let hint =
            if rejected == 0 { "" } else { "; a promise was rejected that nobody awaits, see the log" };
        return Ok(Err(tools::CallError::Failure(format!("{why}{hint}"))));
    }
    promise
        .result::<Object>()
        .expect("the event loop ends when the promise is settled")
        .and_then(|it| from_variant(&it, read))
}

/// Reads `{ tag: "ok", val }` or `{ tag: "err", val: call-error }`.
fn from_variant<'js, T>(it: &Object<'js>, read: impl Fn(&Object<'js>) -> Result<T>) -> Result<Outcome<T>> {
    let value: Object = it.get("val")?;
    if required(it, "tag")? == "ok" {
        return read(&value).map(Ok);
    }
    Ok(Err(match required(&value, "tag")?.as_str() {
        "tool-error" => {
            let error: Object = value.get("val")?;
            tools::CallError::ToolError(tools::ToolError {
                message: required(&error, "message")?,
                retryable: error.get("retryable")?,
                data: text(&error, "data")?,
            })
        }
        "invalid-params" => tools::CallError::InvalidParams(required(&value, "val")?),
        _ => tools::CallError::Failure(required(&value, "val")?),
    }))
}

/// Reads `{ content, annotations? }`.
pub(super) fn block(it: &Object<'_>) -> Result<tools::ContentBlock> {
    let hints: Option<Object> = it.get("annotations")?;
    let annotations = hints.as_ref().map(annotations).transpose()?;
    let none = tools::ContentAnnotations { audience: Vec::new(), priority: None, last_modified: None };
    Ok(tools::ContentBlock {
        content: content(&it.get("content")?)?,
        annotations: annotations.unwrap_or(none),
    })
}

pub(super) fn role(named: &str) -> tools::Role {
    if named == "user" { tools::Role::User } else { tools::Role::Assistant }
}

fn annotations(it: &Object<'_>) -> Result<tools::ContentAnnotations> {
    Ok(tools::ContentAnnotations {
        audience: list(it, "audience")?.into_iter().map(|Text(named)| role(&named)).collect(),
        priority: it.get("priority")?,
        last_modified: text(it, "lastModified")?,
    })
}

fn content(it: &Object<'_>) -> Result<tools::Content> {
    let value: Object = it.get("val")?;
    Ok(match required(it, "tag")?.as_str() {
        "image" => tools::Content::Image(media(&value)?),
        "audio" => tools::Content::Audio(media(&value)?),
        "resource" => {
            let uri = required(&value, "uri")?;
            let media_type = text(&value, "mediaType")?;
            let body = body(&value.get("body")?)?;
            tools::Content::Resource(tools::EmbeddedResource { uri, media_type, body })
        }
        _ => tools::Content::ResourceLink(tools::ResourceLink {
            uri: required(&value, "uri")?,
            name: required(&value, "name")?,
            title: text(&value, "title")?,
            description: text(&value, "description")?,
            media_type: text(&value, "mediaType")?,
            size: size(&value)?,
        }),
    })
}

pub(super) fn body(it: &Object<'_>) -> Result<tools::ResourceBody> {
    Ok(match required(it, "tag")?.as_str() {
        "text" => tools::ResourceBody::Text(required(it, "val")?),
        _ => tools::ResourceBody::Blob(it.get::<_, Bytes>("val")?.0),
    })
}

fn media(it: &Object<'_>) -> Result<tools::Media> {
    Ok(tools::Media { data: it.get::<_, Bytes>("data")?.0, media_type: required(it, "mediaType")? })
}

/// Reads a size in bytes; `None` for a negative number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a size is a whole number below 2^53"
)]
fn size(it: &Object<'_>) -> Result<Option<u64>> {
    Ok(it.get::<_, Option<f64>>("size")?.filter(|size| *size >= 0.0).map(|size| size as u64))
}
