//! Serializes the result of MCP's `tools/call` as the server does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use kitbag_manifest::limits::CONTENT_OVERHEAD_BYTES;
use kitbag_manifest::reply::Failure;
use serde::Serialize;
use serde_json::Value;

use crate::{Content, EmbeddedResource, Media, ResourceBody, ResourceLink, ToolResult};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    is_error: bool,
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

/// Serializes a result, with its structured value where the tool declares `output`, or a failure.
pub(super) fn of(result: &Result<ToolResult, Failure>, structured: Option<&Value>) -> String {
    let to_json =
        |result: &CallResult<'_>| serde_json::to_string(result).expect("plain data always serialises");
    match result {
        Ok(result) => {
            let text = Block::Text { text: &result.text };
            let content = std::iter::once(text).chain(result.content.iter().map(block)).collect();
            to_json(&CallResult { content, structured_content: structured, is_error: false })
        }
        Err(failure) => {
            let envelope = serde_json::to_string(failure).expect("plain data always serialises");
            let content = vec![Block::Text { text: &envelope }];
            to_json(&CallResult { content, structured_content: None, is_error: true })
        }
    }
}

/// Returns how much a content block adds to the size of a result, in bytes.
pub(super) fn size(content: &Content) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    CONTENT_OVERHEAD_BYTES
        + match content {
            Content::Image(media) | Content::Audio(media) => media.data.len() + media.media_type.len(),
            Content::Resource(EmbeddedResource { uri, media_type, body }) => {
                let body = match body {
                    ResourceBody::Text(text) => text.len(),
                    ResourceBody::Blob(bytes) => bytes.len(),
                };
                uri.len() + length(media_type) + body
            }
            Content::Link(ResourceLink { uri, name, title, description, media_type, size: _ }) => {
                uri.len() + name.len() + length(title) + length(description) + length(media_type)
            }
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
