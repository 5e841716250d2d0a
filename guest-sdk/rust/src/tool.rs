//! Tools: a description for the model, and a handler.

use std::borrow::Cow;
use std::pin::Pin;

use kitbag_manifest::{ToolAnnotations, ToolDefinition};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{self, ParseError};
use crate::error::CallError;
use crate::{Ctx, IntoToolResult, ToolResult, schema};

type Handler = Box<dyn Fn(&str, Ctx) -> PendingResult>;
type PendingResult = Pin<Box<dyn Future<Output = Result<ToolResult, CallError>>>>;

/// A tool of a [`Toolkit`](crate::Toolkit).
pub struct Tool {
    name: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    annotations: ToolAnnotations,
    mutating: bool,
    always_on: bool,
    // Invariant: a call generates no schemas. They are generated only for the definition.
    input: fn() -> Value,
    output: fn() -> Option<Value>,
    handler: Handler,
}

impl Tool {
    /// Creates a tool named `name` (`[a-zA-Z0-9_-]+`, `snake_case` by convention). Its schemas are
    /// derived from the handler's types.
    pub fn new<Args, Output, Answer>(
        name: impl Into<Cow<'static, str>>,
        handler: impl Fn(Args, Ctx) -> Answer + 'static,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + 'static,
        Output: IntoToolResult + 'static,
        Answer: Future<Output = Output> + 'static,
    {
        Self {
            name: name.into(),
            title: None,
            description: Cow::Borrowed(""),
            annotations: ToolAnnotations::default(),
            mutating: false,
            always_on: false,
            input: schema::input::<Args>,
            output: Output::output_schema,
            handler: Box::new(move |json, ctx| match arguments::parse::<Args>(json) {
                Ok(args) => {
                    let answer = handler(args, ctx);
                    Box::pin(async move { answer.await.into_tool_result().map_err(CallError::from) })
                }
                Err(ParseError::Shape(why) | ParseError::Malformed(why)) => {
                    Box::pin(std::future::ready(Err(CallError::InvalidParams(why))))
                }
            }),
        }
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description, which the model reads to decide whether to call the tool.
    #[must_use]
    pub fn description(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.description = text.into();
        self
    }

    /// Replaces the input schema derived from the handler's type. The handler is called only with
    /// arguments that fit this schema.
    #[must_use]
    pub fn input_schema(mut self, schema: fn() -> Value) -> Self {
        self.input = schema;
        self
    }

    /// Marks the tool as one that changes state; clients are expected to ask before they call it.
    #[must_use]
    pub fn mutating(mut self) -> Self {
        self.mutating = true;
        self
    }

    /// Lists the tool ahead of the toolkit's other tools.
    #[must_use]
    pub fn always_on(mut self) -> Self {
        self.always_on = true;
        self
    }

    /// Sets whether the tool is read-only. By default it is, unless it is
    /// [`mutating`](Self::mutating) or its toolkit may ingest.
    #[must_use]
    pub fn read_only_hint(mut self, hint: bool) -> Self {
        self.annotations.read_only_hint = Some(hint);
        self
    }

    /// Sets whether the tool may destroy something. The default is `false` for a read-only tool.
    #[must_use]
    pub fn destructive_hint(mut self, hint: bool) -> Self {
        self.annotations.destructive_hint = Some(hint);
        self
    }

    /// Sets whether calling again with the same arguments has no further effect.
    #[must_use]
    pub fn idempotent_hint(mut self, hint: bool) -> Self {
        self.annotations.idempotent_hint = Some(hint);
        self
    }

    /// Sets whether the tool interacts with external systems. The default is `false` for a read-only tool.
    #[must_use]
    pub fn open_world_hint(mut self, hint: bool) -> Self {
        self.annotations.open_world_hint = Some(hint);
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs the handler with arguments that fit the input schema.
    pub(crate) fn call(&self, arguments: &str, ctx: Ctx) -> PendingResult {
        (self.handler)(arguments, ctx)
    }

    pub(crate) fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.to_string(),
            title: self.title.as_deref().map(str::to_owned),
            description: self.description.to_string(),
            input_schema: (self.input)(),
            output_schema: (self.output)(),
            annotations: self.annotations,
            mutating: self.mutating,
            always_on: self.always_on,
        }
    }
}
