//! Stored files: components, captured files, and compiled machine code.
//!
//! # Modules
//!
//! - `objects`: components and captured files, over `object_store`: stores them while rows refer to them, and
//!   deletes them afterwards (docs/decisions/0036); `objects/s3` sends the requests to a bucket through
//!   `egress`; `objects/janitor` cleans up after interrupted processes
//! - `stored_files`: names of components and captured files, and the references of rows to them, for commands
//!   that copy or check all of them
//! - `machine_code`: compiled machine code of toolkits and extractors, each file sealed

pub mod machine_code;
pub mod objects;
pub mod stored_files;
