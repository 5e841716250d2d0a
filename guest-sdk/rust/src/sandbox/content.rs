//! Converts content of results to the WIT types.

use kitbag_manifest::content::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, Media, ResourceBody, ResourceLink, Role,
};

use super::tools;

impl From<ContentBlock> for tools::ContentBlock {
    fn from(ContentBlock { content, annotations }: ContentBlock) -> Self {
        Self { content: content.into(), annotations: annotations.into() }
    }
}

impl From<ContentAnnotations> for tools::ContentAnnotations {
    fn from(ContentAnnotations { audience, priority, last_modified }: ContentAnnotations) -> Self {
        let audience = audience.into_iter().map(Into::into).collect();
        Self { audience, priority, last_modified }
    }
}

impl From<Role> for tools::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
        }
    }
}

impl From<ResourceBody> for tools::ResourceBody {
    fn from(body: ResourceBody) -> Self {
        match body {
            ResourceBody::Text(text) => Self::Text(text),
            ResourceBody::Blob(bytes) => Self::Blob(bytes),
        }
    }
}

impl From<Content> for tools::Content {
    fn from(content: Content) -> Self {
        match content {
            Content::Image(media) => Self::Image(media.into()),
            Content::Audio(media) => Self::Audio(media.into()),
            Content::Resource(resource) => Self::Resource(resource.into()),
            Content::Link(link) => Self::ResourceLink(link.into()),
        }
    }
}

impl From<Media> for tools::Media {
    fn from(Media { data, media_type }: Media) -> Self {
        Self { data, media_type }
    }
}

impl From<EmbeddedResource> for tools::EmbeddedResource {
    fn from(EmbeddedResource { uri, media_type, body }: EmbeddedResource) -> Self {
        Self { uri, media_type, body: body.into() }
    }
}

impl From<ResourceLink> for tools::ResourceLink {
    fn from(it: ResourceLink) -> Self {
        let ResourceLink { uri, name, title, description, media_type, size } = it;
        Self { uri, name, title, description, media_type, size }
    }
}
