//! Results and errors of tool calls.

use kitbag_manifest::content::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, Media, ResourceBody, ResourceLink, Role,
};

use super::tools;
use crate::contract::{CallError, ToolError, ToolResult};

impl From<tools::ToolResult> for ToolResult {
    fn from(it: tools::ToolResult) -> Self {
        let content = it.content.into_iter().map(Into::into).collect();
        Self { text: it.text, structured: it.structured, content }
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
        let role = |role| match role {
            tools::Role::User => Role::User,
            tools::Role::Assistant => Role::Assistant,
        };
        let audience = it.audience.into_iter().map(role).collect();
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
                body: match it.body {
                    tools::ResourceBody::Text(text) => ResourceBody::Text(text),
                    tools::ResourceBody::Blob(bytes) => ResourceBody::Blob(bytes),
                },
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
