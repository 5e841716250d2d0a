//! What a call of a tool returns, whatever version of the contract the toolkit speaks.

use kitbag_manifest::limits::CONTENT_OVERHEAD_BYTES;

/// A handler's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// What the model reads.
    pub text: String,
    /// JSON text, unchecked.
    pub structured: Option<String>,
    /// What stands beside the text.
    pub content: Vec<Content>,
}

/// A handler's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// One that the author means the model to read.
    Tool(ToolError),
    /// The arguments do not fit the handler's types.
    InvalidParams(String),
    /// Anything else, for the log alone.
    Failure(String),
}

/// An error that the author means the model to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// For the model.
    pub message: String,
    /// Whether trying again may help.
    pub retryable: bool,
    /// JSON text for the log.
    pub data: Option<String>,
}

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

impl ToolResult {
    /// What it counts for, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
            + self.structured.as_ref().map_or(0, String::len)
            + self.content.iter().map(Content::size).sum::<usize>()
    }
}

impl CallError {
    /// What it counts for, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Tool(error) => error.message.len() + error.data.as_ref().map_or(0, String::len),
            Self::InvalidParams(text) | Self::Failure(text) => text.len(),
        }
    }
}

impl Content {
    /// What it counts for in the size of a result, in bytes: its parts, and what surrounds them in
    /// a reply, so that a million empty ones are not free.
    fn size(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        CONTENT_OVERHEAD_BYTES
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
