//! One function per fuzz target: what it does with an input, and what must hold for any input.
//!
//! Used by the programs in `fuzz_targets/`, which search for inputs that break a rule, and by `tests/fuzz`,
//! which runs every input of the corpora as part of the tests.

mod allowlist;
mod component;
mod declaration;
mod file;
mod headers;
mod lines;
mod message;
mod query;
mod redaction;
mod schema;
mod token;

pub use allowlist::allowlist;
pub use component::component;
pub use declaration::declaration;
pub use file::file;
pub use headers::headers;
pub use lines::lines;
pub use message::message;
pub use query::query;
pub use redaction::redaction;
pub use schema::schema;
pub use token::token;
