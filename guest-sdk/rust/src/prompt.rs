//! Prompts: messages that a user adds to a conversation.

use std::borrow::Cow;
use std::pin::Pin;

use kitbag_manifest::{PromptArgument, PromptDefinition};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{self, ParseError};
use crate::completion::{Completers, Completion, IntoValues};
use crate::error::CallError;
use crate::{Ctx, Failure, PromptMessage, schema};

type Handler = Box<dyn Fn(&str, Ctx) -> PendingMessages>;
type PendingMessages = Pin<Box<dyn Future<Output = Result<Vec<PromptMessage>, CallError>>>>;

/// A prompt of a [`Toolkit`](crate::Toolkit).
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// #[derive(Deserialize, JsonSchema)]
/// struct Review {
///     /// Title of the book.
///     book: String,
///     /// How strict to be.
///     tone: Option<Tone>,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(rename_all = "lowercase")]
/// enum Tone {
///     Kind,
///     Strict,
/// }
///
/// async fn review(Review { book, tone }: Review, _ctx: Ctx) -> String {
///     let how = match tone {
///         Some(Tone::Strict) => "strictly",
///         Some(Tone::Kind) | None => "kindly",
///     };
///     format!("Review {book} {how}.")
/// }
///
/// let prompt = Prompt::new("review", review)
///     .description("Asks for a review of a book.")
///     .complete("book", |typed: Completion, _ctx| async move {
///         ["Emma", "Moby Dick"].into_iter().filter(|title| title.starts_with(&typed.value)).collect::<Vec<_>>()
///     });
/// # let toolkit = Toolkit::new("books", "Books").description("d").icon("📚").version("1.0.0")
/// #     .tool(Tool::new("t", async |_: NoArgs, _| "t").description("d")).prompt(prompt);
/// let outcome = dispatch(&toolkit, Call::prompt("review").args(json!({ "book": "Emma", "tone": "strict" })));
///
/// assert_eq!(outcome.messages(), [PromptMessage::user("Review Emma strictly.")]);
/// let proposed = dispatch(&toolkit, Call::complete_prompt("review", "book", "M"));
/// assert_eq!(proposed.values(), ["Moby Dick"]);
/// ```
pub struct Prompt {
    name: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    // Invariant: a call generates no schemas, as with tools.
    arguments: fn() -> Value,
    completers: Completers,
    handler: Handler,
}

/// Return types of prompt handlers.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot answer with `{Self}`",
    note = "return a string, a `PromptMessage`, a `Vec` of these, or a `Result` of one of these"
)]
pub trait IntoMessages {
    /// Returns the messages, or the handler's failure.
    fn into_messages(self) -> Result<Vec<PromptMessage>, Failure>;
}

impl Prompt {
    /// Creates a prompt named `name` (`[a-zA-Z0-9_-]+`). Its arguments are the fields of the handler's
    /// argument type. Each is a string: a `String`, a unit-variant enum, or an `Option` of these. Required
    /// arguments are listed first. The user reads the doc comments on fields; the variant names of an enum
    /// are suggested while typing.
    pub fn new<Args, Output, Answer>(
        name: impl Into<Cow<'static, str>>,
        handler: impl Fn(Args, Ctx) -> Answer + 'static,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + 'static,
        Output: IntoMessages + 'static,
        Answer: Future<Output = Output> + 'static,
    {
        Self {
            name: name.into(),
            title: None,
            description: Cow::Borrowed(""),
            arguments: schema::input::<Args>,
            completers: Completers::default(),
            handler: Box::new(move |json, ctx| match arguments::parse::<Args>(json) {
                Ok(args) => {
                    let answer = handler(args, ctx);
                    Box::pin(async move { answer.await.into_messages().map_err(CallError::from) })
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

    /// Sets the description for the user.
    #[must_use]
    pub fn description(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.description = text.into();
        self
    }

    /// Sets the handler that suggests values for an argument while the user types.
    #[must_use]
    pub fn complete<Values, Answer>(
        mut self,
        argument: impl Into<Cow<'static, str>>,
        handler: impl Fn(Completion, Ctx) -> Answer + 'static,
    ) -> Self
    where
        Values: IntoValues + 'static,
        Answer: Future<Output = Values> + 'static,
    {
        self.completers.add(argument.into(), handler);
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn completers(&self) -> &Completers {
        &self.completers
    }

    /// Runs the handler with arguments that fit the declaration.
    pub(crate) fn get(&self, arguments: &str, ctx: Ctx) -> PendingMessages {
        (self.handler)(arguments, ctx)
    }

    pub(crate) fn definition(&self) -> PromptDefinition {
        PromptDefinition {
            name: self.name.to_string(),
            title: self.title.as_deref().map(str::to_owned),
            description: self.description.to_string(),
            arguments: self.argument_definitions(),
        }
    }

    /// Returns a message for each completion handler without an argument, and each argument that is not a
    /// string.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn problems(&self) -> Vec<String> {
        let schema = (self.arguments)();
        let arguments = self.argument_definitions();
        let unknown = self.completers.names().filter(|name| !arguments.iter().any(|it| it.name == **name));
        let unknown = unknown.map(|name| format!("{name:?} is completed, and is no argument"));
        let other = arguments.iter().filter(|it| !is_text(&schema, &schema["properties"][&it.name]));
        let other = other.map(|it| {
            format!("{:?} is no text: use a String, an enum of names, or an Option of these", it.name)
        });
        unknown.chain(other).collect()
    }

    fn argument_definitions(&self) -> Vec<PromptArgument> {
        let schema = (self.arguments)();
        let required: Vec<_> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let all = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let optional = all.filter(|name| !required.contains(name));
        let argument = |name: &str| {
            let described = &schema["properties"][name];
            let completes = self.completers.has(name);
            PromptArgument {
                name: name.to_owned(),
                title: described["title"].as_str().map(str::to_owned),
                description: described["description"].as_str().map(str::to_owned),
                required: required.contains(&name),
                values: if completes { Vec::new() } else { names(&schema, described) },
                completes,
            }
        };
        required.iter().copied().chain(optional).map(argument).collect()
    }
}

/// Returns the variant names of an enum or an optional enum; empty for any other schema.
fn names(root: &Value, schema: &Value) -> Vec<String> {
    let schema = followed(root, schema);
    let listed = schema["enum"].as_array().into_iter().flatten();
    let constants = ["oneOf", "anyOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()).flatten();
    let listed = listed.filter_map(Value::as_str).map(str::to_owned);
    let constants = constants.flat_map(|branch| match branch["const"].as_str() {
        Some(name) => vec![name.to_owned()],
        None => names(root, branch),
    });
    listed.chain(constants).collect()
}

#[cfg(not(target_family = "wasm"))]
fn is_text(root: &Value, schema: &Value) -> bool {
    let schema = followed(root, schema);
    let is_string = |kind: &Value| kind == "string" || kind == "null";
    let of_type = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().all(is_string),
        kind => is_string(kind),
    };
    let branches = ["oneOf", "anyOf"].into_iter().find_map(|keyword| schema[keyword].as_array());
    of_type
        || schema["const"].is_string()
        || branches.is_some_and(|all| all.iter().all(|branch| is_text(root, branch)))
}

/// Resolves a `$ref` to a definition.
fn followed<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

impl IntoMessages for String {
    fn into_messages(self) -> Result<Vec<PromptMessage>, Failure> {
        Ok(vec![PromptMessage::user(self)])
    }
}

impl IntoMessages for &'static str {
    fn into_messages(self) -> Result<Vec<PromptMessage>, Failure> {
        Ok(vec![PromptMessage::user(self)])
    }
}

impl IntoMessages for PromptMessage {
    fn into_messages(self) -> Result<Vec<PromptMessage>, Failure> {
        Ok(vec![self])
    }
}

impl IntoMessages for Vec<PromptMessage> {
    fn into_messages(self) -> Result<Vec<PromptMessage>, Failure> {
        Ok(self)
    }
}

impl<M: IntoMessages, E: Into<Failure>> IntoMessages for Result<M, E> {
    fn into_messages(self) -> Result<Vec<PromptMessage>, Failure> {
        self.map_err(Into::into)?.into_messages()
    }
}
