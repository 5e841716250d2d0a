//! The declaration of a Kitbag toolkit and the rules that apply wherever a call runs: rules of a declaration,
//! checks of arguments, results, documents and searches, error texts, reachable addresses, limits.
//!
//! The host of calls in tests (`test_host`) is here too, for both SDKs.
//!
//! The host and both SDKs share this crate, so a check has the same result and message on an author's machine and on a
//! server. TypeScript reaches it through `rules-module`, and in the sandbox through the engine's module `kitbag:rules`.
//! Inside the sandbox only the types, the error texts and the allowlist are compiled: everything else needs the feature
//! `rules`.

mod annotations;
mod auth;
mod definition;

pub mod asking;
pub mod cache;
pub mod content;
pub mod credentials;
pub mod documents;
pub mod egress;
pub mod knowledge;
pub mod mismatch;
pub mod offers;
pub mod texts;

#[cfg(feature = "rules")]
pub mod address;
#[cfg(feature = "rules")]
pub mod config;
#[cfg(feature = "rules")]
pub mod file_formats;
#[cfg(feature = "rules")]
mod hidden;
#[cfg(feature = "rules")]
pub mod json;
#[cfg(feature = "rules")]
pub mod limits;
#[cfg(feature = "rules")]
pub mod media_type;
#[cfg(feature = "rules")]
pub mod portability;
#[cfg(feature = "rules")]
pub mod question;
#[cfg(feature = "rules")]
pub mod redaction;
#[cfg(feature = "rules")]
pub mod reply;
#[cfg(feature = "rules")]
mod rules;
#[cfg(feature = "rules")]
pub mod schema;
#[cfg(feature = "rules")]
mod shape;
#[cfg(feature = "test-host")]
pub mod test_host;

pub use annotations::ToolAnnotations;
pub use auth::{
    AccountName, ApiKey, Auth, Auths, BasicAuth, ClientAuth, KeyPlace, OAuth2AuthorizationCode,
    OAuth2ClientCredentials, OWN_PARAMETERS,
};
pub use definition::{
    ConfigField, ConfigKind, SCOPE_ASK, SCOPE_CACHE, SCOPE_COLLECTIONS, SCOPE_INGEST, SCOPE_SEARCH,
    ToolDefinition, ToolkitDefinition, Visibility,
};
pub use offers::{PromptArgument, PromptDefinition, ResourceDefinition, UriVariable};
#[cfg(feature = "rules")]
pub use rules::{Problem, Problems, ValidDefinition, validate};
#[cfg(feature = "rules")]
pub use shape::{json_schema, parse};
