//! The operator's settings for outbound traffic.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kitbag_manifest::limits;

use super::guard::{CaptureRanges, ToolkitRanges};
use super::host_policy::HostPolicy;
use super::nat64::Nat64Prefix;
use super::proxy::Proxy;

/// The operator's settings for outbound traffic.
#[derive(Clone, Debug)]
pub struct EgressSettings {
    /// Ranges that toolkits may reach although the guard would refuse them, such as `127.0.0.0/8` on a
    /// developer's machine. Empty by default.
    pub toolkit_ranges: ToolkitRanges,
    /// Ranges that captures may reach although the guard would refuse them. Empty by default.
    pub capture_ranges: CaptureRanges,
    /// Hosts that toolkits may reach at most; `None`: those that they declare.
    pub host_policy: Option<HostPolicy>,
    /// Name servers for toolkits and captures; the system's if empty.
    pub name_servers: Vec<SocketAddr>,
    /// The hosts file for toolkits and captures.
    pub hosts: PathBuf,
    /// NAT64 prefixes of the network, besides those discovered from its name servers.
    pub nat64_prefixes: Vec<Nat64Prefix>,
    /// Proxy for connections to public addresses. `None`: direct connections.
    pub proxy: Option<Proxy>,
    /// Time limit of one look-up by the name servers.
    pub lookup_timeout: Duration,
    /// Time limit from the start of name resolution to the end of the TLS handshake.
    pub connect_timeout: Duration,
    /// Time limit from the start of a request to the response head, including connecting and uploading.
    pub response_timeout: Duration,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            toolkit_ranges: ToolkitRanges::default(),
            capture_ranges: CaptureRanges::default(),
            host_policy: None,
            name_servers: Vec::new(),
            hosts: PathBuf::from("/etc/hosts"),
            nat64_prefixes: Vec::new(),
            proxy: None,
            lookup_timeout: Duration::from_secs(5),
            connect_timeout: limits::CONNECT_TIMEOUT,
            response_timeout: Duration::from_mins(1),
        }
    }
}
