//! Kitbag: a knowledge base whose toolkits are sandboxed WebAssembly components.
//!
//! `docs/architecture.md` says what each module is for. Imports go downward only:
//!
//! ```text
//! main
//! → cli
//! → app
//! → web
//! → access
//! → dispatch
//! → code_runner
//! → knowledge_tools
//! → backup, doctor, extractors, invocations, toolkits, transfer, user_config
//! → installed
//! → compiler
//! → sandbox
//! → capabilities
//! → contract, observations
//! → identity, knowledge, oci, outbound_auth, traces, user_cache
//! → objects
//! → certificate, egress, local_mode, machine_code, peers, signatures, stored_files, vault
//! → audit
//! → database, disk, folder, json_object, memory, metrics, private_file, rate, redaction, sha256, shares, tasks, turns
//! ```

pub mod access;
pub mod app;
pub mod audit;
pub mod backup;
mod base_url;
mod bounded_json;
pub mod capabilities;
pub mod certificate;
pub mod cli;
pub mod code_runner;
pub mod compiler;
pub mod contract;
pub mod database;
pub mod disk;
pub mod dispatch;
pub mod doctor;
pub mod egress;
pub mod extractors;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
pub mod identity;
mod installed;
pub mod invocations;
mod json_object;
pub mod knowledge;
pub mod knowledge_tools;
pub mod local_mode;
mod loopback;
mod machine_code;
pub mod mcp_clients;
pub mod memory;
pub mod metrics;
pub mod objects;
pub mod observations;
pub mod oci;
pub mod outbound_auth;
pub mod ownership;
pub mod peers;
mod private_file;
mod rate;
pub mod redaction;
pub mod sandbox;
pub mod settings;
mod sha256;
mod shares;
pub mod signatures;
mod stored_files;
mod tasks;
pub mod telemetry;
pub mod toolchain;
pub mod toolkits;
pub mod traces;
pub mod transfer;
mod turns;
pub mod user_cache;
pub mod user_config;
pub mod vault;
mod visible;
pub mod web;
