//! Resources: documents that a client reads by URI. A URI with variables stands for many documents.

use std::borrow::Cow;
use std::pin::Pin;

use kitbag_manifest::{ResourceDefinition, UriVariable};
use serde::de::DeserializeOwned;

use crate::arguments::{self, ParseError};
use crate::completion::{Completers, Completion, IntoValues};
use crate::error::CallError;
use crate::{Ctx, Failure, ResourceContents};

type Handler = Box<dyn Fn(&str, Ctx) -> PendingContents>;
type PendingContents = Pin<Box<dyn Future<Output = Result<ResourceContents, CallError>>>>;

/// A resource of a [`Toolkit`](crate::Toolkit).
///
/// Its URI is relative to the toolkit's, `kitbag://{id}/`. A [`ResourceLink`](crate::ResourceLink) with the
/// relative URI `books/7` in a result of the same toolkit links to it.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// #[derive(Deserialize)]
/// struct Book {
///     isbn: String,
/// }
///
/// async fn book(Book { isbn }: Book, _ctx: Ctx) -> Result<String> {
///     Ok(format!("# Book {isbn}"))
/// }
///
/// let resource = Resource::new("book", "books/{isbn}", book)
///     .description("A book, by its number.")
///     .media_type("text/markdown");
/// # let toolkit = Toolkit::new("books", "Books").description("d").icon("📚").version("1.0.0")
/// #     .tool(Tool::new("t", async |_: NoArgs, _| "t").description("d")).resource(resource);
/// let outcome = dispatch(&toolkit, Call::resource("books/7"));
///
/// assert_eq!(outcome.contents(), &ResourceContents::text("# Book 7").media_type("text/markdown"));
/// ```
pub struct Resource {
    name: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    uri: Cow<'static, str>,
    media_type: Option<Cow<'static, str>>,
    values: Vec<(Cow<'static, str>, Vec<String>)>,
    completers: Completers,
    handler: Handler,
}

/// Return types of resource handlers.
#[diagnostic::on_unimplemented(
    message = "a resource cannot answer with `{Self}`",
    note = "return a string, bytes, `ResourceContents`, or a `Result` of one of these"
)]
pub trait IntoContents {
    /// Returns the contents, or the handler's failure.
    fn into_contents(self) -> Result<ResourceContents, Failure>;
}

impl Resource {
    /// Creates a resource named `name` (`[a-zA-Z0-9_-]+`). `uri` is relative and may have variables:
    /// `books/{isbn}`. The handler takes a struct with a `String` field per variable, or
    /// [`NoArgs`](crate::NoArgs) without variables.
    pub fn new<Variables, Output, Answer>(
        name: impl Into<Cow<'static, str>>,
        uri: impl Into<Cow<'static, str>>,
        handler: impl Fn(Variables, Ctx) -> Answer + 'static,
    ) -> Self
    where
        Variables: DeserializeOwned + 'static,
        Output: IntoContents + 'static,
        Answer: Future<Output = Output> + 'static,
    {
        Self {
            name: name.into(),
            title: None,
            description: Cow::Borrowed(""),
            uri: uri.into(),
            media_type: None,
            values: Vec::new(),
            completers: Completers::default(),
            handler: Box::new(move |json, ctx| match arguments::parse::<Variables>(json) {
                Ok(variables) => {
                    let answer = handler(variables, ctx);
                    Box::pin(async move { answer.await.into_contents().map_err(CallError::from) })
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

    /// Sets the description for users and models.
    #[must_use]
    pub fn description(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.description = text.into();
        self
    }

    /// Sets the media type, such as `text/markdown`.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<Cow<'static, str>>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Sets fixed values to suggest for a variable while the user types.
    #[must_use]
    pub fn values<T: Into<String>>(
        mut self,
        variable: impl Into<Cow<'static, str>>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.values.push((variable.into(), values.into_iter().map(Into::into).collect()));
        self
    }

    /// Sets the handler that suggests values for a variable while the user types.
    #[must_use]
    pub fn complete<Values, Answer>(
        mut self,
        variable: impl Into<Cow<'static, str>>,
        handler: impl Fn(Completion, Ctx) -> Answer + 'static,
    ) -> Self
    where
        Values: IntoValues + 'static,
        Answer: Future<Output = Values> + 'static,
    {
        self.completers.add(variable.into(), handler);
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn completers(&self) -> &Completers {
        &self.completers
    }

    /// Runs the handler with the values of the variables.
    pub(crate) fn read(&self, variables: &str, ctx: Ctx) -> PendingContents {
        (self.handler)(variables, ctx)
    }

    pub(crate) fn definition(&self) -> ResourceDefinition {
        let listed = self.values.iter().map(|(name, values)| UriVariable {
            name: name.to_string(),
            values: values.clone(),
            completes: false,
        });
        let completed = self.completers.names().map(|name| UriVariable {
            name: name.to_owned(),
            values: Vec::new(),
            completes: true,
        });
        ResourceDefinition {
            name: self.name.to_string(),
            title: self.title.as_deref().map(str::to_owned),
            description: self.description.to_string(),
            uri: self.uri.to_string(),
            media_type: self.media_type.as_deref().map(str::to_owned),
            variables: listed.chain(completed).collect(),
        }
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self) -> Result<ResourceContents, Failure> {
        Ok(self)
    }
}

impl IntoContents for String {
    fn into_contents(self) -> Result<ResourceContents, Failure> {
        Ok(ResourceContents::text(self))
    }
}

impl IntoContents for &'static str {
    fn into_contents(self) -> Result<ResourceContents, Failure> {
        Ok(ResourceContents::text(self))
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self) -> Result<ResourceContents, Failure> {
        Ok(ResourceContents::blob(self))
    }
}

impl<C: IntoContents, E: Into<Failure>> IntoContents for Result<C, E> {
    fn into_contents(self) -> Result<ResourceContents, Failure> {
        self.map_err(Into::into)?.into_contents()
    }
}
