//! Stored files: components, captured files, and machine code.
//!
//! # Modules
//!
//! - `objects`: components and captured files, over `object_store`: puts them, keeps them while rows
//!   refer to them, deletes them after (docs/decisions/0036); `objects/s3` sends the requests for a
//!   bucket through `egress`; `objects/janitor` ends what processes have left behind
//! - `stored_files`: the names of components and captured files, and which of them rows refer to, for
//!   commands that copy or check all of them
//! - `machine_code`: the compiled machine code of toolkits and extractors, each file sealed

pub mod machine_code;
pub mod objects;
pub mod stored_files;
