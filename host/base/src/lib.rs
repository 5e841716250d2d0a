//! What every part of Kitbag uses.
//!
//! # Modules
//!
//! - `rate`: how often each user does something: a bucket that fills up again
//! - `redaction`: finds the values of secrets in text, also in common encodings
//! - `ownership`: the owners of files and folders: reads only files that nobody else can have written;
//!   requires data directories to be private
//! - `mcp_clients`: the MCP clients that people use, and how each is told of a server
//! - `loopback`: which URLs stay on this machine
//! - `visible`: escapes control characters that a terminal would interpret, and invisible characters
//! - `folder`: an open folder, whose files are reached by name and never through a link
//! - `disk`: the free space on the disk, and the reserve below which nothing more is stored
//! - `bounded_json`: indented JSON up to a size, of values that others nest
//! - `json_object`: reads a JSON object where serde would also accept an array
//! - `memory`: the memory budget of all calls; how much memory the machine, or the control group, has
//! - `metrics`: what is counted and measured, in the text format of `OpenMetrics`; `app/metrics` serves it,
//!   `access/readings` reads what is counted elsewhere
//! - `private_file`: writes every file that holds a key: for its owner alone, atomically
//! - `sha256`: SHA-256, from the one crypto library
//! - `signatures`: signatures of components and keys of publishers, as `cosign` writes them
//!   (docs/decisions/0075)
//! - `shares`: capacity that many users share, so that no single one can take it all
//! - `turns`: turns at work of which little runs at a time: users alternate
//! - `tasks`: work that continues when its caller has gone away
//! - `base_url`: URLs below the base URL of a server
//! - `local_mode`: what commands share with a local server

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
pub mod redaction;
pub mod sha256;
pub mod shares;
pub mod signatures;
pub mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod turns;
pub mod visible;
