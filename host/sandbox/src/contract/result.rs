//! The results of calls, for all versions of the contract.

use kitbag_manifest::content::{ContentBlock, PromptMessage};

/// A handler's result. A tool returns everything except messages, a prompt returns messages, a resource one
/// content block, and a completion a structured list of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// The text for the model.
    pub text: String,
    /// Structured result as JSON text, not validated.
    pub structured: Option<String>,
    /// Content besides the text.
    pub content: Vec<ContentBlock>,
    /// Messages of a prompt.
    pub messages: Vec<PromptMessage>,
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
    /// Details for the log, as JSON text.
    pub data: Option<String>,
}

impl ToolResult {
    /// Returns the size that counts towards the limit of results, in bytes.
    pub fn size(&self) -> usize {
        self.text.len()
            + self.structured.as_ref().map_or(0, String::len)
            + self.content.iter().map(ContentBlock::size).sum::<usize>()
            + self.messages.iter().map(PromptMessage::size).sum::<usize>()
    }
}

impl CallError {
    /// Returns the size that counts towards the limit of results, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Tool(error) => error.message.len() + error.data.as_ref().map_or(0, String::len),
            Self::InvalidParams(text) | Self::Failure(text) => text.len(),
        }
    }
}
