//! Content that a result may carry in addition to its text: images, audio, documents and links.

/// One content block that clients show in addition to a result's text. Its size counts towards the
/// size limit of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An image.
    Image(Media),
    /// Audio.
    Audio(Media),
    /// A document embedded in the result.
    Resource(EmbeddedResource),
    /// A link to a document that the client may fetch itself.
    Link(ResourceLink),
}

/// An image or audio file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The file's bytes.
    pub data: Vec<u8>,
    /// Media type, such as `image/png`.
    pub media_type: String,
}

/// A document embedded in a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedResource {
    /// Identifies the document; need not resolve.
    pub uri: String,
    /// Media type, such as `text/markdown`.
    pub media_type: Option<String>,
    /// The content of the document.
    pub body: ResourceBody,
}

/// Content of an embedded document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Binary data.
    Blob(Vec<u8>),
}

/// A link to a document that the client may fetch itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceLink {
    /// URI of the document.
    pub uri: String,
    /// Stable name, for programs.
    pub name: String,
    /// Display name, for people.
    pub title: Option<String>,
    /// What the document contains.
    pub description: Option<String>,
    /// Media type, such as `text/csv`.
    pub media_type: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
}

impl Content {
    /// Creates an image with a media type such as `image/png`.
    pub fn image(data: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self::Image(Media { data: data.into(), media_type: media_type.into() })
    }

    /// Creates audio with a media type such as `audio/wav`.
    pub fn audio(data: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self::Audio(Media { data: data.into(), media_type: media_type.into() })
    }
}

impl EmbeddedResource {
    /// Creates a text document. `uri` identifies it and need not resolve.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), media_type: None, body: ResourceBody::Text(text.into()) }
    }

    /// Creates a binary document. `uri` identifies it and need not resolve.
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { uri: uri.into(), media_type: None, body: ResourceBody::Blob(bytes.into()) }
    }

    /// Sets the media type, such as `text/markdown`.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

impl ResourceLink {
    /// Creates a link; `name` is a stable name for programs.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            media_type: None,
            size: None,
        }
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description of what the document contains.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the media type.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Sets the size, in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }
}

impl From<EmbeddedResource> for Content {
    fn from(resource: EmbeddedResource) -> Self {
        Self::Resource(resource)
    }
}

impl From<ResourceLink> for Content {
    fn from(link: ResourceLink) -> Self {
        Self::Link(link)
    }
}
