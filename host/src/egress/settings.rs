//! What the operator decides about outbound traffic.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kitbag_manifest::limits;

use super::guard::{CaptureRanges, ToolkitRanges};
use super::nat64::Nat64Prefix;

/// What the operator decides about outbound traffic.
#[derive(Clone, Debug)]
pub struct EgressSettings {
    /// Ranges that toolkits may reach although the guard would refuse them, such as `127.0.0.0/8` on a
    /// developer's machine. Empty by default.
    pub toolkit_ranges: ToolkitRanges,
    /// The same for captures. Empty by default.
    pub capture_ranges: CaptureRanges,
    /// Name servers for what toolkits and captures ask for; where there are none, the system's.
    pub name_servers: Vec<SocketAddr>,
    /// The file that names hosts, for the same.
    pub hosts: PathBuf,
    /// NAT64 prefixes of the network, beside those that its name servers tell.
    pub nat64_prefixes: Vec<Nat64Prefix>,
    /// How long the name servers may take for one name.
    pub lookup_timeout: Duration,
    /// From the start of name resolution to the end of the TLS handshake.
    pub connect_timeout: Duration,
    /// From the start of a request, connecting and uploading included, to the response's head.
    pub response_timeout: Duration,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            toolkit_ranges: ToolkitRanges::default(),
            capture_ranges: CaptureRanges::default(),
            name_servers: Vec::new(),
            hosts: PathBuf::from("/etc/hosts"),
            nat64_prefixes: Vec::new(),
            lookup_timeout: Duration::from_secs(5),
            connect_timeout: limits::CONNECT_TIMEOUT,
            response_timeout: Duration::from_mins(1),
        }
    }
}
