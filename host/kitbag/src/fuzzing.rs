//! Entry points for the fuzz targets in `fuzz/`: parsers of untrusted input that no other crate needs to
//! access.
//!
//! Each calls the same function as a server does, and returns what it parsed.

pub use crate::cli::ingest_fuzzing as ingest;
pub use kitbag_database::peers::fuzzing as peers;
pub use kitbag_identity::fuzzing as identity;
pub use kitbag_knowledge::capture_fuzzing as capture;
pub use kitbag_knowledge::fuzzing as documents;
pub use kitbag_maintenance::backup::fuzzing as backup;
pub use kitbag_net::egress::fuzzing as egress;
pub use kitbag_toolkits::fuzzing as toolkits;
pub use kitbag_web::fuzzing as web;
