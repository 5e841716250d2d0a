//! Write a Kitbag toolkit in Rust: a definition and typed async handlers, nothing else.
//!
//! A toolkit is a bundle of tools that an assistant calls. This crate turns a [`Toolkit`] into the
//! sandboxed component that Kitbag runs. Kitbag handles protocol, schemas, validation and error
//! envelopes.
//!
//! ```
//! use kitbag_toolkit::prelude::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct CountArgs {
//!     /// The text to count.
//!     text: String,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Counts {
//!     words: usize,
//! }
//!
//! async fn count(args: CountArgs, _ctx: Ctx) -> Result<Structured<Counts>> {
//!     let words = args.text.split_whitespace().count();
//!     Ok(Structured::new(format!("{words} words"), Counts { words }))
//! }
//!
//! fn toolkit() -> Toolkit {
//!     Toolkit::new("text", "Text utilities")
//!         .description("Counts words.")
//!         .icon("✂️")
//!         .version(env!("CARGO_PKG_VERSION"))
//!         .tool(Tool::new("count", count).description("Counts the words of a text."))
//! }
//!
//! kitbag_toolkit::export!(toolkit);
//!
//! # fn main() {
//! // A test needs no sandbox: `dispatch` validates and calls as the host does.
//! let outcome = dispatch(&toolkit(), Call::new("count").args(json!({ "text": "to be or not" })));
//!
//! assert_eq!(outcome.text(), "4 words");
//! assert_eq!(outcome.structured(), &json!({ "words": 4 }));
//! # }
//! ```
//!
//! # Handlers
//! A handler is an async function of its arguments and a [`Ctx`]. The arguments are any type that can be
//! deserialized and has a JSON Schema; the model reads the doc comments on its fields. A tool
//! without arguments takes [`NoArgs`]. A handler returns any type that implements [`IntoToolResult`]:
//! a string, a [`ToolResult`], a [`Structured`] value (which declares the tool's `output`), or a
//! [`Result`] of these. Images, audio and documents are added to the text as [`Content`].
//!
//! # Prompts and resources
//! A [`Prompt`] is a template of messages that a user picks in their client. A [`Resource`] is a document
//! that a client reads by its URI. Their handlers work like those of tools.
//!
//! # Errors
//! [`ToolError`] is an error whose message is shown to the model. Every other error, by `?`, becomes a
//! [`Failure`]: its causes go to the log, and the model learns only that the tool failed.
//!
//! # Permissions
//! A toolkit may use only what its definition grants: hosts by [`Toolkit::egress`], credentials by
//! [`Toolkit::secret`], and the user's knowledge base, questions to the user and a [`Cache`] by
//! [`Toolkit::scope`]. A component that uses more than it declares is refused at deploy, and [`dispatch`]
//! refuses the same in a test.
//!
//! # Signing in at an API
//! [`Toolkit::auth`] declares how Kitbag signs in at an API: with the user's connected account
//! ([`AuthorizationCode`]), with the toolkit's own account ([`ClientCredentials`]), or with secrets
//! ([`ApiKey`], [`BasicAuth`]). The handler sends plain requests and never sees the credentials.
//!
//! # Concurrent requests
//! Await several requests together, with [`future::join_all`] and related functions:
//!
//! ```
//! # use kitbag_toolkit::prelude::*;
//! use kitbag_toolkit::future::try_join;
//!
//! async fn compare(_: NoArgs, ctx: Ctx) -> Result<String> {
//!     let (left, right) =
//!         try_join(ctx.fetch("https://a.example/"), ctx.fetch("https://b.example/")).await?;
//!     Ok(format!("{} {}", left.status(), right.status()))
//! }
//! ```

mod arguments;
mod ask;
mod auth;
mod cache;
mod completion;
mod ctx;
mod error;
mod log;
mod progress;
mod prompt;
mod request;
mod resource;
mod response;
mod result;
mod schema;
mod setting;
mod svc;
mod tool;
mod toolkit;

#[cfg(not(target_family = "wasm"))]
mod local;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod sandbox;

pub use arguments::NoArgs;
pub use ask::{AskError, Asked};
pub use auth::{AccountName, ApiKey, Auth, AuthorizationCode, BasicAuth, ClientCredentials, KeyPlace};
pub use cache::Cache;
pub use completion::{Completion, IntoValues};
pub use ctx::Ctx;
pub use error::{Failure, FetchError, Result, SvcError, ToolError};
#[cfg(not(target_family = "wasm"))]
pub use local::{Answer, Call, ErrorCode, Outcome, ToolFailure, dispatch};
#[doc(hidden)]
pub use log::argument as __log_argument;
pub use progress::Progress;
pub use prompt::{IntoMessages, Prompt};
pub use request::Request;
pub use resource::{IntoContents, Resource};
pub use response::Response;
pub use result::{IntoToolResult, Structured, ToolResult};
pub use setting::Setting;
pub use svc::{Document, DocumentSummary, SearchOptions, SearchResult, Svc};
pub use tool::Tool;
pub use toolkit::{Scope, Toolkit};

pub use http;
pub use kitbag_manifest::content::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, Media, MessageContent, PromptMessage,
    ResourceBody, ResourceContents, ResourceLink, Role,
};
pub use kitbag_manifest::documents::{NewDocument as IngestDocument, NewFeed as IngestFeed};
#[cfg(not(target_family = "wasm"))]
pub use kitbag_manifest::question::Question;
pub use kitbag_manifest::{ClientAuth, Visibility};
#[cfg(not(target_family = "wasm"))]
pub use kitbag_manifest::{Problem, Problems};
pub use schemars;
pub use serde;
pub use serde_json;

/// Functions that await several futures at once.
pub mod future {
    pub use futures_util::future::{
        join, join_all, join3, join4, try_join, try_join_all, try_join3, try_join4,
    };
}

/// Common imports of a toolkit: `use kitbag_toolkit::prelude::*;`
pub mod prelude {
    pub use anyhow::Context as _;
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};

    #[cfg(not(target_family = "wasm"))]
    pub use crate::{Answer, Call, ErrorCode, Outcome, dispatch};
    pub use crate::{
        ApiKey, AskError, Asked, AuthorizationCode, BasicAuth, Cache, ClientAuth, ClientCredentials,
        Completion, Content, ContentBlock, Ctx, Document, DocumentSummary, EmbeddedResource, Failure,
        FetchError, IngestDocument, IngestFeed, IntoToolResult, KeyPlace, NoArgs, Progress, Prompt,
        PromptMessage, Request, Resource, ResourceContents, ResourceLink, Response, Result, Role, Scope,
        SearchOptions, SearchResult, Setting, Structured, Svc, SvcError, Tool, ToolError, ToolResult,
        Toolkit, Visibility, log,
    };
}

/// Exports the crate as a toolkit component: `export!(toolkit)`, where `toolkit` is a function that
/// returns the [`Toolkit`].
///
/// Inside the sandbox the function runs once per call, so it should only build the toolkit.
/// Outside the sandbox the macro only checks the function's type.
#[macro_export]
macro_rules! export {
    ($toolkit:path) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the component's entry points are raw exports")]
        const _: () = {
            struct Author;

            impl $crate::sandbox::Author for Author {
                fn toolkit() -> $crate::Toolkit {
                    $toolkit()
                }
            }

            type Component = $crate::sandbox::Component<Author>;
    $crate::sandbox::bindings::export!(Component with_types_in $crate::sandbox::bindings);
        };

        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> $crate::Toolkit = $toolkit;
    };
}
