//! The contract's export `tools`: calls, and the declaration.

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
        with_toolkit(|ctx, call| match outcome(ctx, &call, invocation).catch(ctx) {
            Ok(outcome) => Ok(outcome),
            // The SDK already converts exceptions of handlers to failures; this one comes from elsewhere.
            Err(caught) => Ok(Err(tools::CallError::Failure(caught.to_string()))),
        })
        .unwrap_or_else(|error| Err(tools::CallError::Failure(error.to_string())))
    }
}

type Outcome = std::result::Result<tools::ToolResult, tools::CallError>;

/// Calls the toolkit's function, and waits for its promise.
fn outcome<'js>(ctx: &Ctx<'js>, call: &Function<'js>, it: tools::Invocation) -> Result<Outcome> {
    let returned: Value = call.call((it.tool, it.arguments, it.user_id, it.config))?;
    let Some(promise) = returned.as_promise() else {
        return from_variant(&returned.get()?);
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
        .and_then(|it| from_variant(&it))
}

/// Reads `{ tag: "ok", val: tool-result }` or `{ tag: "err", val: call-error }`.
fn from_variant(it: &Object<'_>) -> Result<Outcome> {
    let value: Object = it.get("val")?;
    if required(it, "tag")? == "ok" {
        return Ok(Ok(tools::ToolResult {
            text: required(&value, "text")?,
            structured: text(&value, "structured")?,
            content: list::<Object>(&value, "content")?.iter().map(block).collect::<Result<_>>()?,
        }));
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
fn block(it: &Object<'_>) -> Result<tools::ContentBlock> {
    let hints: Option<Object> = it.get("annotations")?;
    let annotations = hints.as_ref().map(annotations).transpose()?;
    let none = tools::ContentAnnotations { audience: Vec::new(), priority: None, last_modified: None };
    Ok(tools::ContentBlock {
        content: content(&it.get("content")?)?,
        annotations: annotations.unwrap_or(none),
    })
}

fn annotations(it: &Object<'_>) -> Result<tools::ContentAnnotations> {
    let role = |Text(role): Text| if role == "user" { tools::Role::User } else { tools::Role::Assistant };
    Ok(tools::ContentAnnotations {
        audience: list(it, "audience")?.into_iter().map(role).collect(),
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
            let body: Object = value.get("body")?;
            tools::Content::Resource(tools::EmbeddedResource {
                uri: required(&value, "uri")?,
                media_type: text(&value, "mediaType")?,
                body: match required(&body, "tag")?.as_str() {
                    "text" => tools::ResourceBody::Text(required(&body, "val")?),
                    _ => tools::ResourceBody::Blob(body.get::<_, Bytes>("val")?.0),
                },
            })
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
