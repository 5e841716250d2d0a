//! Return types of handlers.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{ContentBlock, Failure, schema};

/// Result of a tool: text for the model, and optionally a JSON value for programs, images, audio and
/// documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// Text for the model.
    pub text: String,
    /// JSON value for programs. Clients receive it only if the tool declares `output`; see [`Structured`].
    pub structured: Option<Value>,
    /// Content that clients show in addition to the text, in this order.
    pub content: Vec<ContentBlock>,
}

impl ToolResult {
    /// Creates a result with text only.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds an image, audio, a document or a link.
    ///
    /// ```
    /// # use kitbag_toolkit::prelude::*;
    /// let png = vec![0x89, b'P', b'N', b'G'];
    /// let result = ToolResult::new("A chart of this week.")
    ///     .with(Content::image(png, "image/png"))
    ///     .with(ContentBlock::new(ResourceLink::new("https://example.com/week.csv", "week.csv")).priority(0.2));
    /// # assert_eq!(result.content.len(), 2);
    /// ```
    #[must_use]
    pub fn with(mut self, content: impl Into<ContentBlock>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Attaches a value without declaring its schema.
    pub fn with_structured(mut self, value: impl Serialize) -> Result<Self, Failure> {
        self.structured = Some(serde_json::to_value(value)?);
        Ok(self)
    }
}

/// Text for the model and a typed value for programs. The value's schema becomes the tool's `output`.
#[derive(Clone, Debug, PartialEq)]
pub struct Structured<T> {
    /// Text for the model.
    pub text: String,
    /// The value; must serialize to a JSON object.
    pub structured: T,
    /// Content that clients show in addition to the text, in this order.
    pub content: Vec<ContentBlock>,
}

impl<T: Serialize + JsonSchema> Structured<T> {
    /// Creates a result from a value and a text that says the same.
    pub fn new(text: impl Into<String>, structured: T) -> Self {
        Self { text: text.into(), structured, content: Vec::new() }
    }

    /// Creates a result whose text is the JSON of the value.
    pub fn json(structured: T) -> Result<Self, Failure> {
        Ok(Self::new(serde_json::to_string(&structured)?, structured))
    }

    /// Adds an image, audio, a document or a link.
    #[must_use]
    pub fn with(mut self, content: impl Into<ContentBlock>) -> Self {
        self.content.push(content.into());
        self
    }
}

/// Return types of tool handlers.
#[diagnostic::on_unimplemented(
    message = "a tool cannot answer with `{Self}`",
    note = "return a string, `ToolResult`, `Structured<T>`, or a `Result` of one of these"
)]
pub trait IntoToolResult {
    /// Returns the result, or the handler's failure.
    fn into_tool_result(self) -> Result<ToolResult, Failure>;

    /// Returns the JSON Schema of the structured value, if one is declared.
    fn output_schema() -> Option<Value> {
        None
    }
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, Failure> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, Failure> {
        Ok(ToolResult::new(self))
    }
}

impl IntoToolResult for &'static str {
    fn into_tool_result(self) -> Result<ToolResult, Failure> {
        Ok(ToolResult::new(self))
    }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<ToolResult, Failure> {
        let result = ToolResult { content: self.content, ..ToolResult::new(self.text) };
        result.with_structured(self.structured)
    }

    fn output_schema() -> Option<Value> {
        Some(schema::output::<T>())
    }
}

impl<R: IntoToolResult, E: Into<Failure>> IntoToolResult for Result<R, E> {
    fn into_tool_result(self) -> Result<ToolResult, Failure> {
        self.map_err(Into::into)?.into_tool_result()
    }

    fn output_schema() -> Option<Value> {
        R::output_schema()
    }
}
