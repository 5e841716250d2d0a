//! Settings about addresses: where to listen, which ranges, which name servers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use ipnet::IpNet;

use super::value::List;

/// Address or Unix socket to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// IPv4 or IPv6 socket address of this machine.
    Tcp(SocketAddr),
    /// Unix socket in the file system.
    Unix(PathBuf),
}

impl Listen {
    /// Returns the socket address; `None` for a Unix socket.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for List<Listen> {
    fn from(address: SocketAddr) -> Self {
        Self::of(vec![Listen::Tcp(address)])
    }
}

/// Loopback address with Kitbag's own port.
pub(super) fn default_listen() -> List<Listen> {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)).into()
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ => text.parse().map(Self::Tcp).map_err(|_| {
                "an address is such as 127.0.0.1:8787, [::1]:8787 or unix:/run/kitbag/http.sock".to_owned()
            }),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(out),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// The permissions of a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketMode(u32);

impl SocketMode {
    pub(super) const PRIVATE: Self = Self(0o600);

    /// Permission bits, as for chmod(2).
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl FromStr for SocketMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
        mode.map(Self).ok_or_else(|| "a mode is three octal digits, such as 600 or 660".to_owned())
    }
}

/// Name server (DNS). The default port is 53.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameServer(SocketAddr);

impl NameServer {
    /// Socket address of the name server.
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for NameServer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text.parse().or_else(|_| text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53)));
        address.map(Self).map_err(|_| {
            "a name server is an address such as 10.0.0.2, 10.0.0.2:5353 or [2001:db8::2]:53".to_owned()
        })
    }
}

/// Address range such as `10.0.0.0/8`; a single address is a range of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange(IpNet);

impl AddressRange {
    /// Returns the range.
    pub fn get(self) -> IpNet {
        self.0
    }
}

impl FromStr for AddressRange {
    type Err = ipnet::AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<IpAddr>().map(IpNet::from).or_else(|_| text.parse()).map(Self)
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Loopback ranges of IPv4 and IPv6.
pub(super) fn loopback() -> List<AddressRange> {
    let range = |address: IpAddr, length| IpNet::new(address, length).expect("the length fits the address");
    let ranges = [range(Ipv4Addr::LOCALHOST.into(), 8), range(Ipv6Addr::LOCALHOST.into(), 128)];
    List::of(ranges.map(AddressRange).into())
}
