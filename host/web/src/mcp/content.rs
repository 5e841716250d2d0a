//! Conversion of a result's content blocks (besides its text) to MCP types.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kitbag_manifest::content::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, MessageContent, PromptMessage, ResourceBody,
    ResourceLink, Role,
};
use rmcp::model as mcp;

/// Converts one block.
pub(crate) fn block(ContentBlock { content, annotations }: ContentBlock) -> mcp::ContentBlock {
    use mcp::ContentBlock as Block;

    let mut block = match content {
        Content::Image(media) => Block::image(STANDARD.encode(media.data), media.media_type),
        Content::Audio(media) => Block::audio(STANDARD.encode(media.data), media.media_type),
        Content::Resource(resource) => Block::resource(embedded(resource)),
        Content::Link(it) => Block::resource_link(link(it)),
    };
    let annotations = hints(annotations);
    match &mut block {
        Block::Image(image) => image.annotations = annotations,
        Block::Audio(audio) => audio.annotations = annotations,
        Block::Resource(resource) => resource.annotations = annotations,
        Block::ResourceLink(link) => link.annotations = annotations,
        _ => {}
    }
    block
}

/// Returns `None` if no hint is set.
fn hints(it: ContentAnnotations) -> Option<mcp::Annotations> {
    if it == ContentAnnotations::default() {
        return None;
    }
    let mut annotations = mcp::Annotations::default();
    annotations.audience =
        Some(it.audience.into_iter().map(role).collect()).filter(|audience: &Vec<_>| !audience.is_empty());
    annotations.priority = it.priority.map(single);
    annotations.last_modified = it.last_modified;
    Some(annotations)
}

fn role(role: Role) -> mcp::Role {
    match role {
        Role::User => mcp::Role::User,
        Role::Assistant => mcp::Role::Assistant,
    }
}

/// Converts a message of a prompt.
pub(super) fn message(PromptMessage { role: said_by, content }: PromptMessage) -> mcp::PromptMessage {
    let content = match content {
        MessageContent::Text(text) => mcp::ContentBlock::text(text),
        MessageContent::Block(it) => block(it),
    };
    mcp::PromptMessage::new(role(said_by), content)
}

#[expect(clippy::cast_possible_truncation, reason = "a priority from 0 to 1 needs no more digits")]
fn single(priority: f64) -> f32 {
    priority as f32
}

pub(super) fn embedded(
    EmbeddedResource { uri, media_type, body }: EmbeddedResource,
) -> mcp::ResourceContents {
    let contents = match body {
        ResourceBody::Text(text) => mcp::ResourceContents::text(text, uri),
        ResourceBody::Blob(bytes) => mcp::ResourceContents::blob(STANDARD.encode(bytes), uri),
    };
    match media_type {
        Some(media_type) => contents.with_mime_type(media_type),
        None => contents,
    }
}

fn link(it: ResourceLink) -> mcp::Resource {
    let mut link = mcp::Resource::new(it.uri, it.name);
    link.title = it.title;
    link.description = it.description;
    link.mime_type = it.media_type;
    link.size = it.size;
    link
}
