//! What a Kitbag toolkit declares about itself, and the rules a declaration must keep.
//!
//! The Rust SDK and the host share this crate, so a declaration that passes on the author's
//! machine passes at deploy. Inside the sandbox only the types are compiled.

mod annotations;
mod definition;

#[cfg(not(target_family = "wasm"))]
pub mod config;
#[cfg(not(target_family = "wasm"))]
pub mod egress;
#[cfg(not(target_family = "wasm"))]
pub mod json;
#[cfg(not(target_family = "wasm"))]
mod rules;
#[cfg(not(target_family = "wasm"))]
pub mod schema;

pub use annotations::ToolAnnotations;
pub use definition::{
    ConfigField, ConfigKind, OAuth2ClientCredentials, SCOPE_INGEST, SCOPE_SEARCH, ToolDefinition,
    ToolkitDefinition, Visibility,
};
#[cfg(not(target_family = "wasm"))]
pub use rules::{Problem, Problems, ValidDefinition, validate};
