//! Serializes the result of MCP's `tools/call` as the server does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use kitbag_manifest::reply::Failure;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, Media, ResourceBody, ResourceLink, Role,
    ToolResult,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: Vec<Annotated<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    is_error: bool,
}

#[derive(Serialize)]
struct Annotated<'a> {
    #[serde(flatten)]
    block: Block<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    audience: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Image(File<'a>),
    Audio(File<'a>),
    Resource { resource: Resource<'a> },
    ResourceLink(Link<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    data: String,
    mime_type: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link<'a> {
    uri: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

/// Serializes a failure, or a result with its structured value if the tool declares `output`.
pub(super) fn of(result: &Result<ToolResult, Failure>, structured: Option<&Value>) -> String {
    let to_json =
        |result: &CallResult<'_>| serde_json::to_string(result).expect("plain data always serialises");
    match result {
        Ok(result) => {
            // As on a server: model APIs refuse an empty text.
            let is_left_out = result.text.is_empty() && !result.content.is_empty();
            let text = (!is_left_out).then(|| text(&result.text));
            let content = text.into_iter().chain(result.content.iter().map(annotated)).collect();
            to_json(&CallResult { content, structured_content: structured, is_error: false })
        }
        Err(failure) => {
            let envelope = serde_json::to_string(failure).expect("plain data always serialises");
            to_json(&CallResult { content: vec![text(&envelope)], structured_content: None, is_error: true })
        }
    }
}

fn text(text: &str) -> Annotated<'_> {
    Annotated { block: Block::Text { text }, annotations: None }
}

fn annotated(ContentBlock { content, annotations }: &ContentBlock) -> Annotated<'_> {
    let is_set = *annotations != ContentAnnotations::default();
    Annotated { block: block(content), annotations: is_set.then(|| hints(annotations)) }
}

fn hints(ContentAnnotations { audience, priority, last_modified }: &ContentAnnotations) -> Annotations<'_> {
    let role = |role: &Role| match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Annotations {
        audience: audience.iter().map(role).collect(),
        priority: *priority,
        last_modified: last_modified.as_deref(),
    }
}

fn block(content: &Content) -> Block<'_> {
    match content {
        Content::Image(media) => Block::Image(file(media)),
        Content::Audio(media) => Block::Audio(file(media)),
        Content::Resource(EmbeddedResource { uri, media_type, body }) => {
            let (text, blob) = match body {
                ResourceBody::Text(text) => (Some(text.as_str()), None),
                ResourceBody::Blob(bytes) => (None, Some(BASE64.encode(bytes))),
            };
            Block::Resource { resource: Resource { uri, mime_type: media_type.as_deref(), text, blob } }
        }
        Content::Link(ResourceLink { uri, name, title, description, media_type, size }) => {
            Block::ResourceLink(Link {
                uri,
                name,
                title: title.as_deref(),
                description: description.as_deref(),
                mime_type: media_type.as_deref(),
                size: *size,
            })
        }
    }
}

fn file(Media { data, media_type }: &Media) -> File<'_> {
    File { data: BASE64.encode(data), mime_type: media_type }
}
