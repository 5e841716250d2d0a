//! Kitbag: a knowledge base whose toolkits are sandboxed WebAssembly components.
//!
//! `docs/architecture.md` has the map. Imports go one way only, in the order of these modules:
//! `main → cli → app → web → dispatch → extractors, toolkits, invocations, user_config → sandbox →
//! capabilities → identity, knowledge, outbound_auth → egress, machine_code, vault → database, redaction`.

pub mod app;
pub mod capabilities;
pub mod cli;
pub mod database;
pub mod dispatch;
pub mod egress;
pub mod extractors;
#[doc(hidden)]
pub mod fuzzing;
pub mod identity;
pub mod invocations;
pub mod knowledge;
pub mod local_mode;
mod machine_code;
pub mod outbound_auth;
mod private_file;
pub mod redaction;
pub mod sandbox;
pub mod settings;
mod tasks;
pub mod telemetry;
pub mod toolchain;
pub mod toolkits;
pub mod user_config;
pub mod vault;
pub mod web;
