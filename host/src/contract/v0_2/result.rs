//! Results and errors of tool calls.

use super::tools;
use crate::contract::{
    CallError, Content, EmbeddedResource, Media, ResourceBody, ResourceLink, ToolError, ToolResult,
};

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
            tools::Content::ResourceLink(it) => Self::ResourceLink(ResourceLink {
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
