//! The results of tool calls, for all versions of the contract.

use kitbag_manifest::limits::CONTENT_OVERHEAD_BYTES;

/// A handler's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The text for the model.
    pub text: String,
    /// JSON text, not validated.
    pub structured: Option<String>,
    /// Content besides the text.
    pub content: Vec<Content>,
}

/// A handler's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// An error for the model.
    Tool(ToolError),
    /// The arguments do not match the handler's types.
    InvalidParams(String),
    /// Any other error, for the log only.
    Failure(String),
}

/// An error for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    /// The text for the model.
    pub message: String,
    /// Whether a retry may help.
    pub retryable: bool,
    /// JSON text for the log.
    pub data: Option<String>,
}

/// A content item of a result besides its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An image.
    Image(Media),
    /// Audio.
    Audio(Media),
    /// A document inside the result.
    Resource(EmbeddedResource),
    /// A link to a document.
    ResourceLink(ResourceLink),
}

/// An image or audio file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The bytes of the file.
    pub data: Vec<u8>,
    /// From the guest, not validated.
    pub media_type: String,
}

/// A document inside a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedResource {
    /// Identifies the document.
    pub uri: String,
    /// From the guest, not validated.
    pub media_type: Option<String>,
    /// The document.
    pub body: ResourceBody,
}

/// The content of an embedded document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A link to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceLink {
    /// The document's URI.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its title for people.
    pub title: Option<String>,
    /// A description of the document.
    pub description: Option<String>,
    /// From the guest, not validated.
    pub media_type: Option<String>,
    /// In bytes.
    pub size: Option<u64>,
}

impl ToolResult {
    /// Its size for the limit of results, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
            + self.structured.as_ref().map_or(0, String::len)
            + self.content.iter().map(Content::size).sum::<usize>()
    }
}

impl CallError {
    /// Its size for the limit of results, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Tool(error) => error.message.len() + error.data.as_ref().map_or(0, String::len),
            Self::InvalidParams(text) | Self::Failure(text) => text.len(),
        }
    }
}

impl Content {
    /// Its size for the limit of results, in bytes: its parts, and an overhead for the reply, so that many
    /// empty items count too.
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
