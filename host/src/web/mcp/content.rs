//! Content blocks of a result beside its text, as MCP types.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ContentBlock, Resource, ResourceContents};

use crate::dispatch::{Content, EmbeddedResource, ResourceBody, ResourceLink};

/// Converts one block.
pub(in crate::web) fn block(content: Content) -> ContentBlock {
    match content {
        Content::Image(media) => ContentBlock::image(STANDARD.encode(media.data), media.media_type),
        Content::Audio(media) => ContentBlock::audio(STANDARD.encode(media.data), media.media_type),
        Content::Resource(resource) => ContentBlock::resource(embedded(resource)),
        Content::ResourceLink(it) => ContentBlock::resource_link(link(it)),
    }
}

fn embedded(EmbeddedResource { uri, media_type, body }: EmbeddedResource) -> ResourceContents {
    let contents = match body {
        ResourceBody::Text(text) => ResourceContents::text(text, uri),
        ResourceBody::Blob(bytes) => ResourceContents::blob(STANDARD.encode(bytes), uri),
    };
    match media_type {
        Some(media_type) => contents.with_mime_type(media_type),
        None => contents,
    }
}

fn link(it: ResourceLink) -> Resource {
    let mut link = Resource::new(it.uri, it.name);
    link.title = it.title;
    link.description = it.description;
    link.mime_type = it.media_type;
    link.size = it.size;
    link
}
