//! The contracts with toolkits and extractors (`wit/`), and the host's version-independent types for them.
//!
//! Each version is one module with everything that depends on it: bindings, names with the version, and
//! conversions to the types of the host. Capabilities implement the newest version. An older one implements
//! its own interfaces by converting its arguments and forwarding to the newest.

mod extraction;
mod result;
mod v0_2;

pub(crate) use extraction::ExtractError;
pub use extraction::Extracted;
pub use result::{CallError, ToolError, ToolResult};
pub(crate) use v0_2::{
    LinkedExtractor, LinkedToolkit, NAME, WASI_HTTP_TYPES, interfaces, is_toolkit, optional_export,
};

/// The interface that makes a component a toolkit.
pub(crate) const TOOLS: &str = "kitbag:toolkit/tools";

/// What a toolkit exports if its declaration has prompts.
pub const PROMPTS: &str = "kitbag:toolkit/prompts";
/// What a toolkit exports if its declaration has resources.
pub const RESOURCES: &str = "kitbag:toolkit/resources";
/// What a toolkit exports if its declaration has arguments that are completed.
pub const COMPLETION: &str = "kitbag:toolkit/completion";

/// One call by one user, as passed to the guest.
#[derive(Clone, Debug)]
pub(crate) struct GuestCall {
    /// What is called.
    pub(crate) target: Target,
    /// JSON object: arguments, or values of variables.
    pub(crate) arguments: String,
    /// The calling user.
    pub(crate) user_id: String,
    /// JSON object of the user's settings.
    pub(crate) config: String,
}

/// A part of a toolkit that can be called. Names are without the toolkit's prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A tool.
    Tool(String),
    /// A prompt.
    Prompt(String),
    /// A resource.
    Resource {
        /// Its declared name.
        name: String,
        /// Its URI, relative to the toolkit's.
        uri: String,
    },
    /// The completion of an argument.
    Completion {
        /// What has it.
        subject: CompletionSubject,
        /// The argument's name.
        argument: String,
        /// What was typed.
        value: String,
    },
}

/// What has an argument that is completed, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionSubject {
    /// A prompt.
    Prompt(String),
    /// A resource, whose variables are arguments.
    Resource(String),
}
