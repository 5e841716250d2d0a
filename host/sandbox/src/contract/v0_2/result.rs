//! Results and errors of calls.

use kitbag_manifest::content::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, Media, MessageContent, PromptMessage,
    ResourceBody, ResourceLink, Role,
};
use serde_json::json;

use super::{prompts, resources, tools};
use crate::contract::{CallError, ToolError, ToolResult};

impl From<tools::ToolResult> for ToolResult {
    fn from(it: tools::ToolResult) -> Self {
        let content = it.content.into_iter().map(Into::into).collect();
        Self { text: it.text, structured: it.structured, content, ..Self::default() }
    }
}

/// Converts the result of a prompt.
pub(super) fn of_messages(messages: Vec<prompts::Message>) -> ToolResult {
    let messages = messages.into_iter().map(Into::into).collect();
    ToolResult { messages, ..ToolResult::default() }
}

/// Converts the result of a resource.
pub(super) fn of_contents(uri: String, contents: resources::ResourceContents) -> ToolResult {
    let resources::ResourceContents { body, media_type } = contents;
    let resource = EmbeddedResource { uri, media_type, body: body.into() };
    ToolResult { content: vec![resource.into()], ..ToolResult::default() }
}

/// Maximum number of completion values that are read; a client receives at most a hundred.
const MAX_VALUES: usize = 10_000;

/// Converts the result of a completion.
pub(super) fn of_values(values: &[String]) -> ToolResult {
    let values = &values[..values.len().min(MAX_VALUES)];
    ToolResult { structured: Some(json!({ "values": values }).to_string()), ..ToolResult::default() }
}

impl From<prompts::Message> for PromptMessage {
    fn from(prompts::Message { role, content }: prompts::Message) -> Self {
        let content = match content {
            prompts::MessageContent::Text(text) => MessageContent::Text(text),
            prompts::MessageContent::Block(block) => MessageContent::Block(block.into()),
        };
        Self { role: role.into(), content }
    }
}

impl From<tools::Role> for Role {
    fn from(role: tools::Role) -> Self {
        match role {
            tools::Role::User => Self::User,
            tools::Role::Assistant => Self::Assistant,
        }
    }
}

impl From<tools::ResourceBody> for ResourceBody {
    fn from(body: tools::ResourceBody) -> Self {
        match body {
            tools::ResourceBody::Text(text) => Self::Text(text),
            tools::ResourceBody::Blob(bytes) => Self::Blob(bytes),
        }
    }
}

impl From<tools::CallError> for CallError {
    fn from(error: tools::CallError) -> Self {
        match error {
            tools::CallError::ToolError(tools::ToolError { message, retryable, data }) => {
                Self::Tool(ToolError { message, retryable, data })
            }
            tools::CallError::InvalidParams(message) => Self::InvalidParams(message),
            tools::CallError::Failure(detail) => Self::Failure(detail),
        }
    }
}

impl From<tools::ContentBlock> for ContentBlock {
    fn from(tools::ContentBlock { content, annotations }: tools::ContentBlock) -> Self {
        Self { content: content.into(), annotations: annotations.into() }
    }
}

impl From<tools::ContentAnnotations> for ContentAnnotations {
    fn from(it: tools::ContentAnnotations) -> Self {
        let audience = it.audience.into_iter().map(Into::into).collect();
        Self { audience, priority: it.priority, last_modified: it.last_modified }
    }
}

impl From<tools::Content> for Content {
    fn from(content: tools::Content) -> Self {
        match content {
            tools::Content::Image(media) => Self::Image(media.into()),
            tools::Content::Audio(media) => Self::Audio(media.into()),
            tools::Content::Resource(it) => Self::Resource(EmbeddedResource {
                uri: it.uri,
                media_type: it.media_type,
                body: it.body.into(),
            }),
            tools::Content::ResourceLink(it) => Self::Link(ResourceLink {
                uri: it.uri,
                name: it.name,
                title: it.title,
                description: it.description,
                media_type: it.media_type,
                size: it.size,
            }),
        }
    }
}

impl From<tools::Media> for Media {
    fn from(tools::Media { data, media_type }: tools::Media) -> Self {
        Self { data, media_type }
    }
}
