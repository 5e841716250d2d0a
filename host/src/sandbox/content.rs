//! What a result holds beside its text.

use super::call::bindings::exports::kitbag::toolkit::tools;

/// One thing beside the text of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A document inside the result.
    Resource(EmbeddedResource),
    /// A document elsewhere.
    ResourceLink(ResourceLink),
}

/// A file that clients show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The file.
    pub data: Vec<u8>,
    /// As the guest says, unchecked.
    pub media_type: String,
}

/// A document inside a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedResource {
    /// Names the document.
    pub uri: String,
    /// As the guest says, unchecked.
    pub media_type: Option<String>,
    /// The document.
    pub body: ResourceBody,
}

/// What is in an embedded document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A document elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceLink {
    /// Where.
    pub uri: String,
    /// For programs.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What is to be found there.
    pub description: Option<String>,
    /// As the guest says, unchecked.
    pub media_type: Option<String>,
    /// In bytes.
    pub size: Option<u64>,
}

impl Content {
    /// What it counts for in the size of a result, in bytes: its parts, and what surrounds them in
    /// a reply, so that a million empty ones are not free.
    pub(super) fn size(&self) -> usize {
        const SURROUNDINGS: usize = 128;
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        SURROUNDINGS
            + match self {
                Self::Image(media) | Self::Audio(media) => media.data.len() + media.media_type.len(),
                Self::Resource(EmbeddedResource { uri, media_type, body }) => {
                    let body = match body {
                        ResourceBody::Text(text) => text.len(),
                        ResourceBody::Blob(bytes) => bytes.len(),
                    };
                    uri.len() + length(media_type) + body
                }
                Self::ResourceLink(ResourceLink { uri, name, title, description, media_type, size: _ }) => {
                    uri.len() + name.len() + length(title) + length(description) + length(media_type)
                }
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
