//! Address guard: IP addresses that a request may connect to, independent of the host name.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv6Net};
use kitbag_manifest::address::{THIS_NETWORK, is_global_unicast, is_public_v4};

use super::nat64::{Nat64Prefix, Prefixes};

/// Private ranges that toolkits may reach. There is deliberately no conversion to [`CaptureRanges`].
#[derive(Clone, Debug, Default)]
pub struct ToolkitRanges(Arc<[IpNet]>);

/// Private ranges that every user may capture files from. They are configured separately: a range that is
/// opened to toolkits, whose hosts are declared and reviewed, is not opened to URLs that any user writes.
#[derive(Clone, Debug, Default)]
pub struct CaptureRanges(Arc<[IpNet]>);

impl FromIterator<IpNet> for ToolkitRanges {
    fn from_iter<I: IntoIterator<Item = IpNet>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl FromIterator<IpNet> for CaptureRanges {
    fn from_iter<I: IntoIterator<Item = IpNet>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

/// Checks resolved addresses just before the connection is opened.
#[derive(Clone, Debug)]
pub(super) enum AddressGuard {
    /// Public addresses, and the ranges that the operator opened to toolkits.
    Toolkits(ToolkitRanges),
    /// Public addresses, and the ranges that the operator opened to captures.
    Captures(CaptureRanges),
    /// Every address.
    Open,
}

impl AddressGuard {
    /// Whether a connection to `address` may be opened.
    ///
    /// An IPv4-mapped address is checked as the IPv4 address that the system would connect to, and a
    /// NAT64 address as the IPv4 address that its gateway would connect to: a range that the operator
    /// opened applies to it only if the range lies within the gateway's prefix.
    ///
    /// While the network's NAT64 prefixes are unknown, an address of an opened range is refused if
    /// a possible prefix inside that range would translate it to a private IPv4 address.
    pub(super) fn permits(&self, address: IpAddr, nat64: &Prefixes) -> bool {
        let Some(opened) = self.opened() else { return true };
        let address = address.to_canonical();
        let is_opened = |range: &IpNet| match (range, address) {
            (IpNet::V6(range), IpAddr::V6(address)) => {
                nat64.of(address).all(|(prefix, _)| prefix.contains(range))
                    && (nat64.are_known() || !may_be_translated(address, range))
            }
            _ => true,
        };
        is_public(address, nat64) || opened.iter().any(|range| range.contains(&address) && is_opened(range))
    }

    /// Whether [`permits`](Self::permits) depends on the network's NAT64 prefixes, which are discovered from
    /// the name servers.
    pub(super) fn depends_on_nat64(&self, address: IpAddr) -> bool {
        let (Some(opened), IpAddr::V6(address)) = (self.opened(), address.to_canonical()) else {
            return false;
        };
        let may_be_translated = |range: &IpNet| matches!(range, IpNet::V6(range) if range.contains(&address) && may_be_translated(address, range));
        is_global_unicast(address) || opened.iter().any(may_be_translated)
    }

    /// Whether every address is permitted.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// The ranges that the operator opened; `None` if every address is permitted.
    fn opened(&self) -> Option<&[IpNet]> {
        match self {
            Self::Open => None,
            Self::Toolkits(ToolkitRanges(opened)) | Self::Captures(CaptureRanges(opened)) => Some(opened),
        }
    }
}

/// Whether a gateway whose prefix lies inside the opened `range` could translate `address` to a private IPv4
/// address. A prefix that contains the whole range does not count: the operator then named exactly those
/// addresses.
fn may_be_translated(address: Ipv6Addr, range: &Ipv6Net) -> bool {
    Nat64Prefix::possible(address).any(|(prefix, embedded)| {
        !prefix.contains(range) && !is_public_v4(embedded) && !THIS_NETWORK.contains(&embedded)
    })
}

/// Whether an address is public; for a NAT64 address, whether the embedded IPv4 address is.
pub(super) fn is_public(address: IpAddr, nat64: &Prefixes) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            let is_configured = nat64.trusted().any(|prefix| prefix.embedded(address).is_some());
            // While the prefixes are unknown, any IPv6 address may be a NAT64 address.
            let is_native = is_global_unicast(address) && nat64.discovered.is_some();
            (is_configured || is_native) && nat64.of(address).all(|(_, embedded)| is_public_v4(embedded))
        }
    }
}

/// Whether an address is certainly private; for a NAT64 address, whether the embedded IPv4 address is. An
/// address about which too little is known is neither private nor [public](is_public).
pub(super) fn is_private(address: IpAddr, nat64: &Prefixes) -> bool {
    match address {
        IpAddr::V4(address) => !is_public_v4(address),
        IpAddr::V6(address) => {
            let mut embedded = nat64.of(address).map(|(_, embedded)| embedded).peekable();
            if embedded.peek().is_none() {
                return !is_global_unicast(address);
            }
            embedded.all(|embedded| !is_public_v4(embedded))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(opened: &[&str]) -> AddressGuard {
        AddressGuard::Toolkits(opened.iter().map(|range| range.parse().unwrap()).collect())
    }

    /// Configured and discovered prefixes, in addition to the well-known one.
    fn nat64(configured: &[&str], discovered: &[&str]) -> Prefixes {
        let prefix = |range: &&str| Nat64Prefix::new(range.parse().unwrap()).unwrap();
        Prefixes {
            configured: configured.iter().map(prefix).collect(),
            discovered: Some(discovered.iter().map(prefix).collect()),
        }
    }

    #[track_caller]
    fn check(guard: &AddressGuard, nat64: &Prefixes, addresses: &[&str], expected: bool) {
        for address in addresses {
            let permitted = guard.permits(address.parse().unwrap(), nat64);
            assert_eq!(permitted, expected, "{address} with {guard:?} and {nat64:?}");
        }
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
            "64:ff9b::1.1.1.1",
        ] {
            assert!(guard(&[]).permits(address.parse().unwrap(), &nat64(&[], &[])), "{address} was refused");
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
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b::",
            "64:ff9b:0:1::1.1.1.1",
            "64:ff9b:1::1",
            "64:ff9b:1::1.1.1.1",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:f5ff:fffe",
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
            assert!(
                !guard(&[]).permits(address.parse().unwrap(), &nat64(&[], &[])),
                "{address} was permitted"
            );
        }
    }

    #[test]
    fn an_opened_range_is_permitted_and_nothing_beside_it() {
        let guard = guard(&["127.0.0.0/8", "fd00:1::/32"]);

        check(&guard, &nat64(&[], &[]), &["127.0.0.1", "::ffff:127.0.0.1", "fd00:1::5"], true);
        let beside = ["::1", "::127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::1", "10.0.0.1", "fd00:2::5"];
        check(&guard, &nat64(&[], &[]), &beside, false);
    }

    #[test]
    fn a_translated_address_is_as_public_as_what_it_stands_for() {
        for prefixes in [nat64(&[], &["2a00:64::/96"]), nat64(&["2a00:64::/96"], &[])] {
            check(&guard(&[]), &prefixes, &["2a00:64::1.1.1.1", "2a00:64:0:0:1::10.0.0.1"], true);
            let private = ["2a00:64::10.0.0.1", "2a00:64::127.0.0.1", "2a00:64::169.254.169.254"];
            check(&guard(&[]), &prefixes, &private, false);
        }
        // Similar bits under a shorter prefix, which puts the IPv4 octets elsewhere.
        let prefixes = nat64(&[], &["2a00:64::/32"]);
        check(&guard(&[]), &prefixes, &["2a00:64:a00:1::", "2a00:64:7f00:1::1.1.1.1"], false);
        check(&guard(&[]), &prefixes, &["2a00:64:101:101::10.0.0.1"], true);
    }

    #[test]
    fn a_prefix_opens_private_addresses_only_where_the_operator_names_it() {
        let addresses = ["fd64::1.1.1.1", "64:ff9b:1::1.1.1.1"];

        check(&guard(&[]), &nat64(&[], &["fd64::/96", "64:ff9b:1::/96"]), &addresses, false);
        check(&guard(&[]), &nat64(&["fd64::/96", "64:ff9b:1::/96"], &[]), &addresses, true);
        check(&guard(&[]), &nat64(&["fd64::/96"], &[]), &["fd64::10.0.0.1", "fd64:1::1.1.1.1"], false);
    }

    #[test]
    fn an_opened_range_reaches_through_a_gateway_only_where_it_names_its_prefix() {
        let wide = guard(&["fd00::/8", "10.0.0.0/8"]);
        let network = nat64(&[], &["fd64::/96"]);
        check(&wide, &network, &["fd64::10.0.0.1", "fd64::127.0.0.1", "64:ff9b::10.0.0.1"], false);
        check(&wide, &network, &["fd65::10.0.0.1", "10.0.0.1"], true);

        let narrow = guard(&["fd64::a00:0/104"]);
        check(&narrow, &network, &["fd64::10.0.0.1"], true);
        check(&narrow, &network, &["fd64::127.0.0.1"], false);
    }

    #[test]
    fn an_opened_range_leads_to_no_private_address_through_a_gateway_that_nobody_has_told_of() {
        let wide = guard(&["fd00::/8"]);
        let unknown = Prefixes { discovered: None, ..nat64(&[], &[]) };
        let through_a_gateway = ["fd64::10.0.0.1", "fd64::127.0.0.1", "fd64::a9fe:a9fe", "fd64:0:a00:1::"];
        let ordinary = ["fd64::1", "fd64:1:2:3::5", "fd64::1.1.1.1"];

        check(&wide, &unknown, &through_a_gateway, false);
        check(&wide, &unknown, &ordinary, true);
        // Configured or discovered prefixes are assumed to be complete.
        check(&wide, &nat64(&[], &[]), &through_a_gateway, true);
        check(&wide, &Prefixes { discovered: None, ..nat64(&["fd99::/96"], &[]) }, &through_a_gateway, true);
        check(&guard(&["fd64::a00:0/104"]), &unknown, &["fd64::10.0.0.1"], true);
        check(&guard(&["fd64::/32"]), &unknown, &["fd64:0:a00:1::"], true);

        for (address, depends) in [(through_a_gateway[0], true), (ordinary[0], false)] {
            assert_eq!(wide.depends_on_nat64(address.parse().unwrap()), depends, "{address}");
        }
    }

    #[test]
    fn no_ipv6_address_is_public_before_the_prefixes_are_known() {
        let unknown = Prefixes { discovered: None, ..nat64(&[], &[]) };

        check(&guard(&["fd00::/8"]), &unknown, &["2606:4700::1111"], false);
        check(&guard(&["fd00::/8"]), &unknown, &["1.1.1.1", "64:ff9b::1.1.1.1", "fd00::1"], true);
        for (address, depends) in [("2606:4700::1111", true), ("1.1.1.1", false), ("::1", false)] {
            assert_eq!(guard(&[]).depends_on_nat64(address.parse().unwrap()), depends, "{address}");
        }
    }

    #[test]
    fn the_open_guard_permits_everything() {
        assert!(AddressGuard::Open.permits("127.0.0.1".parse().unwrap(), &nat64(&[], &[])));
    }
}
