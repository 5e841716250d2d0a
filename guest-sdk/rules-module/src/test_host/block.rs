//! Content blocks as TypeScript sends them: without data and texts.

use kitbag_manifest::content::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, MessageContent, PromptMessage, ResourceLink,
    Role,
};
use serde::Deserialize;

/// A block, or the text of a message.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Block {
    Text,
    Image {
        mime_type: String,
        annotations: Option<Annotations>,
    },
    Audio {
        mime_type: String,
        annotations: Option<Annotations>,
    },
    Resource {
        resource: Resource,
        annotations: Option<Annotations>,
    },
    ResourceLink {
        uri: String,
        name: String,
        title: Option<String>,
        description: Option<String>,
        mime_type: Option<String>,
        annotations: Option<Annotations>,
    },
}

/// A message of a prompt.
#[derive(Deserialize)]
pub(crate) struct Message {
    role: RoleName,
    content: Block,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resource {
    uri: String,
    mime_type: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Annotations {
    audience: Vec<RoleName>,
    priority: Option<f64>,
    last_modified: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RoleName {
    User,
    Assistant,
}

impl Block {
    /// Returns the block; `None` for a text.
    pub(crate) fn into_content(self) -> Option<ContentBlock> {
        let (content, annotations) = match self {
            Self::Text => return None,
            Self::Image { mime_type, annotations } => (Content::image([], mime_type), annotations),
            Self::Audio { mime_type, annotations } => (Content::audio([], mime_type), annotations),
            Self::Resource { resource: Resource { uri, mime_type }, annotations } => (
                EmbeddedResource { media_type: mime_type, ..EmbeddedResource::text(uri, "") }.into(),
                annotations,
            ),
            Self::ResourceLink { uri, name, title, description, mime_type, annotations } => {
                let link = ResourceLink {
                    title,
                    description,
                    media_type: mime_type,
                    ..ResourceLink::new(uri, name)
                };
                (link.into(), annotations)
            }
        };
        let Annotations { audience, priority, last_modified } = annotations.unwrap_or_default();
        let audience = audience.into_iter().map(Into::into).collect();
        Some(ContentBlock { content, annotations: ContentAnnotations { audience, priority, last_modified } })
    }
}

impl From<Message> for PromptMessage {
    fn from(Message { role, content }: Message) -> Self {
        let content = content.into_content().map_or_else(|| MessageContent::Text(String::new()), Into::into);
        Self { role: role.into(), content }
    }
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::User => Self::User,
            RoleName::Assistant => Self::Assistant,
        }
    }
}
