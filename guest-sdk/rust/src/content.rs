//! What a result may hold beside its text.

/// One thing that clients show beside the text of a result. Its size counts against the limit of
/// the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A document that travels inside the result.
    Resource(EmbeddedResource),
    /// A document that the client may fetch by itself.
    Link(ResourceLink),
}

/// A file of a kind that clients can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The file's bytes.
    pub data: Vec<u8>,
    /// Such as `image/png`.
    pub media_type: String,
}

/// A document that travels inside a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedResource {
    /// Names the document; need not resolve.
    pub uri: String,
    /// Such as `text/markdown`.
    pub media_type: Option<String>,
    /// The document itself.
    pub body: ResourceBody,
}

/// What is in an embedded document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Anything else.
    Blob(Vec<u8>),
}

/// A document that the client may fetch by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceLink {
    /// Where the document is.
    pub uri: String,
    /// For programs; does not change.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What is to be found there.
    pub description: Option<String>,
    /// Such as `text/csv`.
    pub media_type: Option<String>,
    /// In bytes.
    pub size: Option<u64>,
}

impl Content {
    /// A picture of a media type such as `image/png`.
    pub fn image(data: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self::Image(Media { data: data.into(), media_type: media_type.into() })
    }

    /// A sound of a media type such as `audio/wav`.
    pub fn audio(data: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self::Audio(Media { data: data.into(), media_type: media_type.into() })
    }
}

impl EmbeddedResource {
    /// A document of text. `uri` names it and need not resolve.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), media_type: None, body: ResourceBody::Text(text.into()) }
    }

    /// A document of bytes. `uri` names it and need not resolve.
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { uri: uri.into(), media_type: None, body: ResourceBody::Blob(bytes.into()) }
    }

    /// Says what kind of document it is, such as `text/markdown`.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

impl ResourceLink {
    /// A link; `name` is for programs and does not change.
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

    /// Sets the name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says what is to be found there.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Says what kind of document it is.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Says how large it is, in bytes.
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
