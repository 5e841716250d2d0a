//! What the fuzz targets in `fuzz/` call: parsers of strangers' input that no other crate needs to see.
//!
//! Each of these calls the very function that a server calls, and says what it made of the input.

pub use crate::cli::ingest_fuzzing as ingest;
pub use kitbag_database::peers::fuzzing as peers;
pub use kitbag_identity::fuzzing as identity;
pub use kitbag_knowledge::capture_fuzzing as capture;
pub use kitbag_knowledge::fuzzing as documents;
pub use kitbag_maintenance::backup::fuzzing as backup;
pub use kitbag_net::egress::fuzzing as egress;
pub use kitbag_toolkits::fuzzing as toolkits;
pub use kitbag_web::fuzzing as web;
