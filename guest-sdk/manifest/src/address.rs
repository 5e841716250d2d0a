//! Classification of IP addresses: publicly reachable, or private to a machine or a network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IPv4 ranges that are not public: IANA's special-purpose registry (RFC 6890) without its public
/// anycast services, and addresses of internal services of clouds.
const PRIVATE_V4: [Ipv4Net; 17] = [
    THIS_NETWORK,               // unspecified
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

/// The range "this network". Routers do not forward it (RFC 6890), so no NAT64 gateway translates to it. The
/// zeros in ordinary IPv6 addresses look like embedded addresses of this range.
pub const THIS_NETWORK: Ipv4Net = v4([0, 0, 0, 0], 8);

/// IPv6 addresses that IANA has allocated for ordinary use. All others are private: loopback, unspecified,
/// IPv4-compatible (`::/96`), local-use NAT64 (`64:ff9b:1::/48`), discard-only, segment routing,
/// unique local (metadata of AWS and Google Cloud), link-local, site-local, multicast.
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0], 3);

/// Special-purpose ranges inside of [`GLOBAL_UNICAST`]. Tunnels are private for every embedded IPv4 address:
/// they are obsolete and have no public servers, and the operating system itself would open the tunnel.
const PRIVATE_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0, 0], 23),      // protocol assignments: Teredo, benchmarking, ORCHID, AMT
    v6([0x2001, 0x0db8, 0], 32), // documentation
    v6([0x2002, 0, 0], 16),      // 6to4
    v6([0x3fff, 0, 0], 20),      // documentation
];

/// Returns whether an IPv4 address is publicly reachable.
pub fn is_public_v4(address: Ipv4Addr) -> bool {
    !PRIVATE_V4.iter().any(|range| range.contains(&address))
}

/// Returns whether an IPv6 address is publicly reachable. Does not consider NAT64 gateways of the network.
pub fn is_global_unicast(address: Ipv6Addr) -> bool {
    GLOBAL_UNICAST.contains(&address) && !PRIVATE_V6.iter().any(|range| range.contains(&address))
}

/// Returns whether a handler may connect to an address: public addresses and the `opened` ranges. Assumes a
/// network without NAT64. An IPv4-mapped address is treated as the IPv4 address that the system connects to.
pub fn permits(opened: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_public = match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_global_unicast(address),
    };
    is_public || opened.iter().any(|range| range.contains(&address))
}

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

    #[test]
    fn an_opened_range_is_permitted_and_nothing_beside_it() {
        let opened = ["10.1.0.0/16".parse().expect("a range")];
        let permits = |address: &str| permits(&opened, address.parse().expect("an address"));

        for address in ["1.1.1.1", "::ffff:1.1.1.1", "2606:4700::1111", "10.1.2.3", "::ffff:10.1.2.3"] {
            assert!(permits(address), "{address}");
        }
        for address in
            ["10.2.0.1", "127.0.0.1", "::ffff:127.0.0.1", "::1", "::1.1.1.1", "fd00::1", "64:ff9b::1.1.1.1"]
        {
            assert!(!permits(address), "{address}");
        }
    }
}
