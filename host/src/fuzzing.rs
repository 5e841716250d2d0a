//! What the fuzz targets in `fuzz/` call: parsers of strangers' input that no other crate needs to see.
//!
//! Each of these calls the very function that a server calls, and says what it made of the input.

pub use crate::backup::fuzzing as backup;
pub use crate::cli::ingest_fuzzing as ingest;
pub use crate::egress::fuzzing as egress;
pub use crate::identity::fuzzing as identity;
pub use crate::knowledge::capture_fuzzing as capture;
pub use crate::knowledge::fuzzing as documents;
pub use crate::peers::fuzzing as peers;
pub use crate::toolkits::fuzzing as toolkits;
pub use crate::web::fuzzing as web;
