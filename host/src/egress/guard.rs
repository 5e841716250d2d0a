//! Which addresses a request may reach, whatever name led to them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Decides about resolved addresses, just before the connection is opened.
#[derive(Clone, Debug)]
pub(super) enum AddressGuard {
    /// Public addresses, and the ranges that the operator allowed.
    PublicOr {
        /// Wins over every refusal below.
        allowed: Arc<[IpNet]>,
    },
    /// Every address.
    Open,
}

impl AddressGuard {
    /// Whether a connection to `address` may be opened.
    ///
    /// An IPv4-mapped address is judged as the IPv4 address that the system would connect to.
    pub(super) fn permits(&self, address: IpAddr) -> bool {
        match self {
            Self::Open => true,
            Self::PublicOr { allowed } => {
                let address = address.to_canonical();
                is_public(address) || allowed.iter().any(|range| range.contains(&address))
            }
        }
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !REFUSED_V4.iter().any(|range| range.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST.contains(&address) && !REFUSED_V6.iter().any(|range| range.contains(&address))
        }
    }
}

/// IANA's special-purpose registry (RFC 6890) without the anycast services that are public, and
/// what else leads into a cloud's own machinery.
const REFUSED_V4: [Ipv4Net; 17] = [
    v4([0, 0, 0, 0], 8),        // "this network", unspecified
    v4([10, 0, 0, 0], 8),       // private
    v4([100, 64, 0, 0], 10),    // carrier-grade NAT; metadata of Alibaba Cloud
    v4([127, 0, 0, 0], 8),      // loopback
    v4([168, 63, 129, 16], 32), // Azure's host agent: a public address that never leaves the host
    v4([169, 254, 0, 0], 16),   // link-local; metadata of most clouds
    v4([172, 16, 0, 0], 12),    // private
    v4([192, 0, 0, 0], 24),     // protocol assignments; metadata of Oracle Cloud
    v4([192, 0, 2, 0], 24),     // documentation
    v4([192, 52, 193, 0], 24),  // multicast tunnels (AMT)
    v4([192, 88, 99, 0], 24),   // 6to4 relays
    v4([192, 168, 0, 0], 16),   // private
    v4([198, 18, 0, 0], 15),    // benchmarking
    v4([198, 51, 100, 0], 24),  // documentation
    v4([203, 0, 113, 0], 24),   // documentation
    v4([224, 0, 0, 0], 4),      // multicast
    v4([240, 0, 0, 0], 4),      // reserved, broadcast
];

/// Everything that IANA has given out for ordinary use. All else is refused unseen: loopback,
/// unspecified, IPv4-compatible (`::/96`), NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`), discard-only,
/// segment routing, unique local (metadata of AWS and Google Cloud), link-local, site-local, multicast.
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0], 3);

/// The special ranges inside of it. Tunnels are refused because they carry an IPv4 address of the
/// sender's choice past the table above.
const REFUSED_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0, 0], 23),      // protocol assignments: Teredo, benchmarking, ORCHID, AMT
    v6([0x2001, 0x0db8, 0], 32), // documentation
    v6([0x2002, 0, 0], 16),      // 6to4
    v6([0x3fff, 0, 0], 20),      // documentation
];

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: [u16; 3], prefix: u8) -> Ipv6Net {
    let [a, b, c] = first;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allowed: &[&str]) -> AddressGuard {
        AddressGuard::PublicOr { allowed: allowed.iter().map(|range| range.parse().unwrap()).collect() }
    }

    #[test]
    fn public_addresses_are_permitted() {
        for address in [
            "1.1.1.1",
            "93.184.215.14",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "168.63.129.15",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
        ] {
            assert!(guard(&[]).permits(address.parse().unwrap()), "{address} was refused");
        }
    }

    #[test]
    fn every_other_address_is_refused() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.52.193.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::1.1.1.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::1.1.1.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!guard(&[]).permits(address.parse().unwrap()), "{address} was permitted");
        }
    }

    #[test]
    fn an_allowed_range_is_permitted_and_nothing_beside_it() {
        let guard = guard(&["127.0.0.0/8", "fd00:1::/32"]);

        for address in ["127.0.0.1", "::ffff:127.0.0.1", "fd00:1::5"] {
            assert!(guard.permits(address.parse().unwrap()), "{address} was refused");
        }
        for address in ["::1", "::127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::1", "10.0.0.1", "fd00:2::5"]
        {
            assert!(!guard.permits(address.parse().unwrap()), "{address} was permitted");
        }
    }

    #[test]
    fn the_open_guard_permits_everything() {
        assert!(AddressGuard::Open.permits("127.0.0.1".parse().unwrap()));
    }
}
