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
pub(crate) use v0_2::{LinkedExtractor, LinkedToolkit, NAME, WASI_HTTP_TYPES, interfaces, is_toolkit};

/// The interface that makes a component a toolkit.
pub(crate) const TOOLS: &str = "kitbag:toolkit/tools";

/// One call of one tool, as passed to the guest.
#[derive(Clone, Debug)]
pub(crate) struct ToolCall {
    /// The tool's name, without the toolkit's prefix.
    pub(crate) tool: String,
    /// JSON object.
    pub(crate) arguments: String,
    /// The calling user.
    pub(crate) user_id: String,
    /// JSON object of the user's settings.
    pub(crate) config: String,
}
