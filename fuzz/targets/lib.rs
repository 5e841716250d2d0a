//! One function per fuzz target: what it does with an input, and what must hold for any input.
//!
//! Used by the programs in `fuzz_targets/`, which search for inputs that break a rule, and by `tests/fuzz`,
//! which runs every input of the corpora as part of the tests.

mod allowlist;
mod component;
mod declaration;
mod file;
mod form;
mod headers;
mod hints;
mod index;
mod lines;
mod manifest;
mod message;
mod picture;
mod query;
mod redaction;
mod schema;
mod search;
mod token;
mod upload;

pub use allowlist::allowlist;
pub use component::component;
pub use declaration::declaration;
pub use file::file;
pub use form::form;
pub use headers::headers;
pub use hints::hints;
pub use index::index;
pub use lines::lines;
pub use manifest::manifest;
pub use message::message;
pub use picture::picture;
pub use query::query;
pub use redaction::redaction;
pub use schema::schema;
pub use search::search;
pub use token::token;
pub use upload::upload;
