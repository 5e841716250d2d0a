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

/// The interface that a toolkit with prompts exports.
pub const PROMPTS: &str = "kitbag:toolkit/prompts";
/// The interface that a toolkit with resources exports.
pub const RESOURCES: &str = "kitbag:toolkit/resources";
/// The interface that a toolkit exports if it completes arguments.
pub const COMPLETION: &str = "kitbag:toolkit/completion";

/// One call by one user, as passed to the guest.
#[derive(Clone, Debug)]
pub(crate) struct GuestCall {
    /// The tool, prompt, resource or completion to call.
    pub(crate) target: Target,
    /// Arguments, or values of variables, as a JSON object.
    pub(crate) arguments: String,
    /// The calling user.
    pub(crate) user_id: String,
    /// The user's settings for the toolkit, as a JSON object.
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
        /// The declared name.
        name: String,
        /// The URI, relative to the toolkit's.
        uri: String,
    },
    /// The completion of an argument.
    Completion {
        /// The prompt or resource with the argument.
        subject: CompletionSubject,
        /// Name of the argument or variable.
        argument: String,
        /// Text that the user has typed so far.
        value: String,
    },
}

/// A prompt or resource whose arguments can be completed, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionSubject {
    /// A prompt.
    Prompt(String),
    /// A resource, whose variables are arguments.
    Resource(String),
}
