//! What a Kitbag toolkit declares about itself, and what follows from it wherever a call runs: the rules of a
//! declaration, checks of arguments and results, the texts of replies, reachable addresses, limits.
//!
//! The host and both SDKs share this crate (TypeScript by way of `rules-module`), so what passes on an
//! author's machine passes on a server, and fails in the same words. Inside the sandbox only the types are
//! compiled: all else needs the feature `rules`.

mod annotations;
mod definition;

#[cfg(feature = "rules")]
pub mod address;
#[cfg(feature = "rules")]
pub mod config;
#[cfg(feature = "rules")]
pub mod egress;
#[cfg(feature = "rules")]
pub mod json;
#[cfg(feature = "rules")]
pub mod limits;
#[cfg(feature = "rules")]
pub mod reply;
#[cfg(feature = "rules")]
mod rules;
#[cfg(feature = "rules")]
pub mod schema;

pub use annotations::ToolAnnotations;
pub use definition::{
    ConfigField, ConfigKind, OAuth2ClientCredentials, SCOPE_INGEST, SCOPE_SEARCH, ToolDefinition,
    ToolkitDefinition, Visibility,
};
#[cfg(feature = "rules")]
pub use rules::{Problem, Problems, ValidDefinition, validate};
