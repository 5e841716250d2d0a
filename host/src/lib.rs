//! Kitbag: a knowledge base whose toolkits are sandboxed WebAssembly components.
//!
//! `docs/architecture.md` has the map. Imports go one way only, in the order of these modules:
//! `main → cli → app → web → dispatch → extractors, toolkits, invocations, user_config → compiler → sandbox →
//! capabilities → contract, observations → identity, knowledge, outbound_auth → egress, local_mode, machine_code, vault → database,
//! private_file, redaction, shares, tasks`.

pub mod app;
pub mod capabilities;
pub mod cli;
pub mod compiler;
pub mod contract;
pub mod database;
pub mod disk;
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
pub mod memory;
pub mod observations;
pub mod outbound_auth;
pub mod ownership;
mod private_file;
pub mod redaction;
pub mod sandbox;
pub mod settings;
mod shares;
mod tasks;
pub mod telemetry;
pub mod toolchain;
pub mod toolkits;
pub mod user_config;
pub mod vault;
mod visible;
pub mod web;
