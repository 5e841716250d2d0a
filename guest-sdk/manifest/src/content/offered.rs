//! Messages of prompts, and contents of resources.

use super::{Content, ContentBlock, EmbeddedResource, ResourceBody, ResourceLink, Role};

/// One message of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    /// Speaker of the message.
    pub role: Role,
    /// Content of the message.
    pub content: MessageContent,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageContent {
    /// A text.
    Text(String),
    /// An image, audio, a document or a link.
    Block(ContentBlock),
}

/// Contents of a resource, as a client reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceContents {
    /// The document.
    pub body: ResourceBody,
    /// Media type; overrides the declared one.
    pub media_type: Option<String>,
}

impl PromptMessage {
    /// Creates a message from the user.
    pub fn user(content: impl Into<MessageContent>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// Creates a message from the model.
    pub fn assistant(content: impl Into<MessageContent>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<ContentBlock> for MessageContent {
    fn from(block: ContentBlock) -> Self {
        Self::Block(block)
    }
}

impl From<Content> for MessageContent {
    fn from(content: Content) -> Self {
        Self::Block(content.into())
    }
}

impl From<EmbeddedResource> for MessageContent {
    fn from(resource: EmbeddedResource) -> Self {
        Self::Block(resource.into())
    }
}

impl From<ResourceLink> for MessageContent {
    fn from(link: ResourceLink) -> Self {
        Self::Block(link.into())
    }
}

impl ResourceContents {
    /// Creates text contents.
    pub fn text(text: impl Into<String>) -> Self {
        Self { body: ResourceBody::Text(text.into()), media_type: None }
    }

    /// Creates binary contents.
    pub fn blob(bytes: impl Into<Vec<u8>>) -> Self {
        Self { body: ResourceBody::Blob(bytes.into()), media_type: None }
    }

    /// Sets the media type, which overrides the declared one.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

#[cfg(feature = "rules")]
impl PromptMessage {
    /// Returns the message's contribution to the size of a result, in bytes.
    pub fn size(&self) -> usize {
        match &self.content {
            MessageContent::Text(text) => crate::limits::CONTENT_OVERHEAD_BYTES + text.len(),
            MessageContent::Block(block) => block.size(),
        }
    }
}

/// Returns the first problem in a list of messages, with its path.
#[cfg(feature = "rules")]
pub fn messages_problem(messages: &[PromptMessage]) -> Option<String> {
    messages.iter().enumerate().find_map(|(index, message)| match &message.content {
        MessageContent::Text(_) => None,
        MessageContent::Block(block) => super::problem(std::slice::from_ref(block))
            .map(|problem| problem.replacen("content[0]", &format!("messages[{index}].content"), 1)),
    })
}
