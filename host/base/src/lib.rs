//! Foundations that all other crates use.
//!
//! # Modules
//!
//! - `rate`: rate limits per user, as token buckets
//! - `redaction`, of `kitbag-manifest`: finds the values of secrets in text, also in common encodings
//! - `ownership`: owners and permissions of files and folders: reads only files that no other user can have written;
//!   requires data directories to be private
//! - `mcp_clients`: common MCP clients, and how to add a server to each
//! - `loopback`: whether a URL or host is on this machine
//! - `visible`: escapes control characters that a terminal would interpret, and invisible characters
//! - `folder`: an open folder, whose files are reached by name and never through a link
//! - `disk`: free space on the disk, and the reserve below which nothing more is stored
//! - `bounded_json`: indented JSON with a maximum size, for values from others
//! - `json_object`: reads a JSON object where serde would also accept an array
//! - `memory`: memory budget of all calls; memory limit of the machine or its control groups
//! - `metrics`: counters and histograms in the `OpenMetrics` text format; `app/metrics` serves it, and
//!   `access/readings` collects values that other crates count
//! - `private_file`: writes files that contain keys: readable for their owner only, atomically
//! - `sha256`: SHA-256, by the only crypto library in use
//! - `signatures`: signatures of components and keys of publishers, as `cosign` writes them
//!   (docs/decisions/0075)
//! - `shares`: capacity shared by many users, with a limit for each
//! - `turns`: scheduling of work with limited concurrency: users alternate
//! - `tasks`: work that continues after its caller has disconnected
//! - `workers`: low-priority threads for work that grows with a user's data, in turns of users
//! - `base_url`: URLs below the base URL of a server
//! - `local_mode`: files shared by commands and a server in local mode

pub mod base_url;
pub mod bounded_json;
pub mod disk;
pub mod folder;
pub mod json_object;
pub mod local_mode;
pub mod loopback;
pub mod mcp_clients;
pub mod memory;
pub mod metrics;
pub mod ownership;
pub mod private_file;
pub mod rate;
pub use kitbag_manifest::redaction;
pub mod sha256;
pub mod shares;
pub mod signatures;
pub mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod turns;
pub mod visible;
pub mod workers;
