//! Outgoing requests, certificates, traces, and registries of components.
//!
//! # Modules
//!
//! - `certificate`: the certificate of a server that speaks TLS itself: reads and checks it with its key,
//!   and replaces it when its files change
//! - `oci`: components in registries: pulls and pushes them, and finds newer ones, within sizes and times
//!   (docs/decisions/0074)
//! - `egress`: the only HTTP client for outgoing requests: allowlist, ports, address guard, pinned DNS
//! - `egress/pool`: idle connections, each for one user of one toolkit and one server
//!   (docs/decisions/0024)
//! - `egress/resolver`: resolves untrusted host names with the name servers (`hickory`), within a time
//!   limit and a share for each user; the operator's names are resolved by the system
//! - `egress/nat64`: which IPv6 addresses a gateway would translate, and to which IPv4 address
//! - `traces`: traces of calls: spans of its steps, the queue, the sender to the collector
//!   (docs/decisions/0041)

pub mod certificate;
pub mod egress;
pub mod oci;
pub mod traces;
