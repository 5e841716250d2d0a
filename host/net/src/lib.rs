//! Outgoing requests, certificates, traces, and registries of components.
//!
//! # Modules
//!
//! - `certificate`: the certificate of a server that speaks TLS itself: reads and checks it with its key,
//!   and replaces it when its files change
//! - `oci`: components in registries: pull, push and look-up of newer versions, with size and time limits
//!   (docs/decisions/0074)
//! - `egress`: the only HTTP client for outgoing requests: allowlist, ports, address guard, pinned DNS
//! - `egress/pool`: idle connections, each for one user of one toolkit and one server
//!   (docs/decisions/0024)
//! - `egress/resolver`: resolves untrusted host names with the name servers (`hickory`), within a time
//!   limit and a share for each user; the operator's names are resolved by the system
//! - `egress/nat64`: IPv4 address that a NAT64 gateway would translate an IPv6 address to
//! - `traces`: tracing of calls: spans, the export queue, and the exporter to the collector
//!   (docs/decisions/0041)
//! - `wrapped_body`: the wrapper of bodies that are counted or recorded, and of responses that are timed

pub mod certificate;
pub mod egress;
pub mod oci;
pub mod traces;
pub mod wrapped_body;
