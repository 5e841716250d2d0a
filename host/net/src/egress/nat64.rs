//! IPv6 addresses that a gateway of the network translates to IPv4 addresses (NAT64).
//!
//! The address alone does not show whether its prefix is translated. One prefix is well known; the others
//! come from the operator's setting, and from the name servers' answer for a name without an IPv6 address of
//! its own (RFC 7050).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ipnet::Ipv6Net;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::resolver::Resolver;

/// Cache time of discovered prefixes. A network rarely introduces NAT64 without a restart of this server.
const PREFIX_LIFETIME: Duration = Duration::from_mins(10);
/// Delay before the name servers are queried again after a failure.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// The IPv4 addresses of `ipv4only.arpa` (RFC 7050, section 2.2). A name server with NAT64 returns them
/// behind a prefix.
const IPV4_ONLY: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 170), Ipv4Addr::new(192, 0, 0, 171)];

/// The positions of the IPv4 octets for each prefix length (RFC 6052, section 2.2).
const LAYOUTS: [(u8, [usize; 4]); 6] = [
    (32, [4, 5, 6, 7]),
    (40, [5, 6, 7, 9]),
    (48, [6, 7, 9, 10]),
    (56, [7, 9, 10, 11]),
    (64, [9, 10, 11, 12]),
    (96, [12, 13, 14, 15]),
];

/// A prefix whose IPv6 addresses are translated to IPv4 addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nat64Prefix {
    range: Ipv6Net,
    octets: [usize; 4],
}

impl Nat64Prefix {
    /// The well-known prefix, the same in every network: `64:ff9b::/96` (RFC 6052, section 2.1).
    pub(super) fn well_known() -> Self {
        let range = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
        Self::new(range).expect("96 is a valid prefix length")
    }

    /// Creates a prefix of 32, 40, 48, 56, 64 or 96 bits; `None` for any other length.
    pub fn new(range: Ipv6Net) -> Option<Self> {
        let (_, octets) = LAYOUTS.into_iter().find(|(length, _)| *length == range.prefix_len())?;
        Some(Self { range: range.trunc(), octets })
    }

    /// The IPv4 address embedded in `address`, if it has this prefix.
    pub(super) fn embedded(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let octets = address.octets();
        self.range.contains(&address).then(|| Ipv4Addr::from(self.octets.map(|at| octets[at])))
    }

    /// Whether the whole range has this prefix.
    pub(super) fn contains(&self, range: &Ipv6Net) -> bool {
        self.range.contains(range)
    }

    /// Every prefix that `address` could have, with the IPv4 address it would embed.
    pub(super) fn possible(address: Ipv6Addr) -> impl Iterator<Item = (Self, Ipv4Addr)> {
        let bytes = address.octets();
        LAYOUTS.into_iter().map(move |(length, octets)| {
            let range = Ipv6Net::new(address, length).expect("no length is above 128").trunc();
            (Self { range, octets }, Ipv4Addr::from(octets.map(|at| bytes[at])))
        })
    }
}

impl fmt::Debug for Nat64Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.range.fmt(f)
    }
}

/// The known NAT64 prefixes.
#[derive(Clone, Debug)]
pub(super) struct Prefixes {
    /// Prefixes that the operator configured. An address with one of them, or with the well-known prefix, is
    /// public if the embedded IPv4 address is.
    pub(super) configured: Vec<Nat64Prefix>,
    /// Prefixes that the name servers returned; `None` if they did not answer. Each prefix only restricts:
    /// none makes an address permitted that an empty list would refuse, since an untrusted name server must
    /// not decide what is public.
    pub(super) discovered: Option<Vec<Nat64Prefix>>,
}

impl Prefixes {
    /// Every known prefix that `address` has, with the IPv4 address it embeds.
    pub(super) fn of(&self, address: Ipv6Addr) -> impl Iterator<Item = (Nat64Prefix, Ipv4Addr)> {
        let all = self.trusted().chain(self.discovered.iter().flatten().copied());
        all.filter_map(move |prefix| Some((prefix, prefix.embedded(address)?)))
    }

    /// The well-known prefix, and those that the operator configured.
    pub(super) fn trusted(&self) -> impl Iterator<Item = Nat64Prefix> {
        self.configured.iter().copied().chain([Nat64Prefix::well_known()])
    }

    /// Whether the network's prefixes were configured or discovered.
    pub(super) fn are_known(&self) -> bool {
        self.discovered.is_some() || !self.configured.is_empty()
    }
}

/// Discovers and caches the network's prefixes.
#[derive(Debug)]
pub(super) struct Nat64 {
    configured: Vec<Nat64Prefix>,
    discovered: Mutex<Discovered>,
}

#[derive(Debug)]
struct Discovered {
    prefixes: Option<Vec<Nat64Prefix>>,
    until: Instant,
}

impl Nat64 {
    /// Starts with the prefixes that the operator configured.
    pub(super) fn new(configured: Vec<Nat64Prefix>) -> Self {
        let discovered = Mutex::new(Discovered { prefixes: None, until: Instant::now() });
        Self { configured, discovered }
    }

    /// Returns the prefixes known so far, without a query: for addresses whose check does not depend on
    /// discovery.
    pub(super) fn cached(&self) -> Prefixes {
        let discovered = self.discovered.try_lock().ok().and_then(|known| known.prefixes.clone());
        Prefixes { configured: self.configured.clone(), discovered }
    }

    /// Returns the known prefixes. Queries `resolver` if its last answer has expired; if that fails, the old
    /// answer stays in use.
    pub(super) async fn prefixes(&self, resolver: &Resolver) -> Prefixes {
        // Locked during the query, so that concurrent callers share one answer.
        let mut discovered = self.discovered.lock().await;
        if discovered.until <= Instant::now() {
            match resolver.ipv4_only().await {
                Ok(addresses) => {
                    let found = discovered_in(&addresses);
                    if !found.is_empty() && discovered.prefixes.as_ref() != Some(&found) {
                        info!(prefixes = ?found, "this network translates IPv6 addresses to IPv4");
                    }
                    *discovered =
                        Discovered { prefixes: Some(found), until: Instant::now() + PREFIX_LIFETIME };
                }
                Err(error) => {
                    warn!(%error, "the name servers did not say whether this network has NAT64");
                    discovered.until = Instant::now() + RETRY_DELAY;
                }
            }
        }
        Prefixes { configured: self.configured.clone(), discovered: discovered.prefixes.clone() }
    }
}

/// The prefixes of the addresses that a name server returned for `ipv4only.arpa` (RFC 7050, section 3). If
/// an address fits two prefixes, both are returned.
fn discovered_in(addresses: &[Ipv6Addr]) -> Vec<Nat64Prefix> {
    let mut found = Vec::new();
    for (prefix, embedded) in addresses.iter().copied().flat_map(Nat64Prefix::possible) {
        if IPV4_ONLY.contains(&embedded) && !found.contains(&prefix) {
            found.push(prefix);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 6052, section 2.4: 192.0.2.33 under prefixes of each length.
    const EXAMPLES: [(&str, &str); 6] = [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
    ];

    fn prefix(range: &str) -> Nat64Prefix {
        Nat64Prefix::new(range.parse().unwrap()).unwrap()
    }

    #[test]
    fn the_examples_of_the_rfc_are_read_as_it_says() {
        for (range, address) in EXAMPLES {
            let embedded = prefix(range).embedded(address.parse().unwrap());
            assert_eq!(embedded, Some(Ipv4Addr::new(192, 0, 2, 33)), "{address}");
            assert_eq!(prefix(range).embedded("2001:db9::1".parse().unwrap()), None, "{range}");
        }
        let well_known = Nat64Prefix::well_known().embedded("64:ff9b::10.0.0.1".parse().unwrap());
        assert_eq!(well_known, Some(Ipv4Addr::new(10, 0, 0, 1)));
    }

    #[test]
    fn a_prefix_has_one_of_six_lengths() {
        for length in 0..=128 {
            let range = Ipv6Net::new("2001:db8::".parse().unwrap(), length).unwrap();
            assert_eq!(
                Nat64Prefix::new(range).is_some(),
                [32, 40, 48, 56, 64, 96].contains(&length),
                "{length}"
            );
        }
    }

    #[test]
    fn a_prefix_of_each_length_is_found_in_what_a_name_server_makes() {
        for (range, address) in [
            ("2a00:db8::/32", "2a00:db8:c000:aa::"),
            ("2a00:db8:100::/40", "2a00:db8:1c0:0:aa::"),
            ("2a00:db8:122::/48", "2a00:db8:122:c000:0:aa00::"),
            ("2a00:db8:122:300::/56", "2a00:db8:122:3c0:0:aa::"),
            ("2a00:db8:122:344::/64", "2a00:db8:122:344:c0:0:ab00::"),
            ("2a00:db8:122:344::/96", "2a00:db8:122:344::192.0.0.171"),
            ("64:ff9b::/96", "64:ff9b::192.0.0.170"),
        ] {
            assert_eq!(discovered_in(&[address.parse().unwrap()]), [prefix(range)], "{address}");
        }
    }

    #[test]
    fn an_address_that_was_not_made_so_is_no_prefix() {
        for address in ["2a00::1", "::1", "2a00:db8::192.0.0.169", "fe80::192.0.0.17"] {
            assert_eq!(discovered_in(&[address.parse().unwrap()]), [], "{address}");
        }
        assert_eq!(discovered_in(&[]), []);
    }
}
