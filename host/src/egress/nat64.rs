//! IPv6 addresses that stand for IPv4 addresses, because a gateway of the network translates them (NAT64).
//!
//! Under which prefixes it does so an address itself does not say. One is the same everywhere; the others
//! are the operator's setting, and what the network's name servers answer for a name that has no IPv6
//! address of its own (RFC 7050).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ipnet::Ipv6Net;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::resolver::Resolver;

/// How long an answer about the network's prefixes counts. A network that begins to translate changes
/// its name servers' answers, and hardly ever without a restart.
const LIFETIME: Duration = Duration::from_mins(10);
/// When the name servers are asked again after they did not answer.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// The addresses of `ipv4only.arpa` (RFC 7050, section 2.2): what a name server puts before them is a prefix.
const IPV4_ONLY: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 0, 170), Ipv4Addr::new(192, 0, 0, 171)];

/// Where the octets of the IPv4 address are, for each length of a prefix (RFC 6052, section 2.2).
const LAYOUTS: [(u8, [usize; 4]); 6] = [
    (32, [4, 5, 6, 7]),
    (40, [5, 6, 7, 9]),
    (48, [6, 7, 9, 10]),
    (56, [7, 9, 10, 11]),
    (64, [9, 10, 11, 12]),
    (96, [12, 13, 14, 15]),
];

/// A prefix under which IPv6 addresses stand for IPv4 addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nat64Prefix {
    range: Ipv6Net,
    octets: [usize; 4],
}

impl Nat64Prefix {
    /// The prefix that is the same in every network: `64:ff9b::/96` (RFC 6052, section 2.1).
    pub(super) fn well_known() -> Self {
        let range = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
        Self::new(range).expect("its length is one of those that there are")
    }

    /// A prefix of 32, 40, 48, 56, 64 or 96 bits; there are no others.
    pub fn new(range: Ipv6Net) -> Option<Self> {
        let (_, octets) = LAYOUTS.into_iter().find(|(length, _)| *length == range.prefix_len())?;
        Some(Self { range: range.trunc(), octets })
    }

    /// The IPv4 address that `address` stands for, if it has this prefix.
    pub(super) fn embedded(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let octets = address.octets();
        self.range.contains(&address).then(|| Ipv4Addr::from(self.octets.map(|at| octets[at])))
    }

    /// Whether the whole range has this prefix.
    pub(super) fn contains(&self, range: &Ipv6Net) -> bool {
        self.range.contains(range)
    }

    /// Every prefix under which `address` could stand for an IPv4 address, with that address.
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

/// The prefixes that are known.
#[derive(Clone, Debug)]
pub(super) struct Prefixes {
    /// Those that the operator named. Addresses with them, or with the well-known prefix, are as public as
    /// what they stand for.
    pub(super) configured: Vec<Nat64Prefix>,
    /// Those that the name servers told; nothing where they did not answer. They open nothing that would
    /// be closed without them: whoever answers for a name server must not decide what is public.
    pub(super) discovered: Option<Vec<Nat64Prefix>>,
}

impl Prefixes {
    /// Every prefix that `address` has, with the address that it stands for under it.
    pub(super) fn of(&self, address: Ipv6Addr) -> impl Iterator<Item = (Nat64Prefix, Ipv4Addr)> {
        let all = self.trusted().chain(self.discovered.iter().flatten().copied());
        all.filter_map(move |prefix| Some((prefix, prefix.embedded(address)?)))
    }

    /// The well-known prefix, and those that the operator named.
    pub(super) fn trusted(&self) -> impl Iterator<Item = Nat64Prefix> {
        self.configured.iter().copied().chain([Nat64Prefix::well_known()])
    }

    /// Whether the operator or the name servers have said which prefixes the network has.
    pub(super) fn are_known(&self) -> bool {
        self.discovered.is_some() || !self.configured.is_empty()
    }
}

/// What is known of the network's prefixes, and found out where it is not.
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
    /// Begins with the prefixes that the operator named.
    pub(super) fn new(configured: Vec<Nat64Prefix>) -> Self {
        let discovered = Mutex::new(Discovered { prefixes: None, until: Instant::now() });
        Self { configured, discovered }
    }

    /// What is known without asking, for addresses about which the answer decides nothing.
    pub(super) fn unasked(&self) -> Prefixes {
        let discovered = self.discovered.try_lock().ok().and_then(|known| known.prefixes.clone());
        Prefixes { configured: self.configured.clone(), discovered }
    }

    /// The known prefixes. Asks `resolver` where its last answer is too old; what it told before counts
    /// on where it does not answer.
    pub(super) async fn prefixes(&self, resolver: &Resolver) -> Prefixes {
        // Whoever comes while one asks waits for the same answer.
        let mut discovered = self.discovered.lock().await;
        if discovered.until <= Instant::now() {
            match resolver.ipv4_only().await {
                Ok(addresses) => {
                    let found = found_in(&addresses);
                    if !found.is_empty() && discovered.prefixes.as_ref() != Some(&found) {
                        info!(prefixes = ?found, "this network translates IPv6 addresses to IPv4");
                    }
                    *discovered = Discovered { prefixes: Some(found), until: Instant::now() + LIFETIME };
                }
                Err(error) => {
                    warn!(%error, "the name servers did not say whether this network has NAT64");
                    discovered.until = Instant::now() + RETRY_PAUSE;
                }
            }
        }
        Prefixes { configured: self.configured.clone(), discovered: discovered.prefixes.clone() }
    }
}

/// The prefixes of addresses that a name server made for `ipv4only.arpa` (RFC 7050, section 3). Where an
/// address can be read in two ways, both count.
fn found_in(addresses: &[Ipv6Addr]) -> Vec<Nat64Prefix> {
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
            assert_eq!(found_in(&[address.parse().unwrap()]), [prefix(range)], "{address}");
        }
    }

    #[test]
    fn an_address_that_was_not_made_so_is_no_prefix() {
        for address in ["2a00::1", "::1", "2a00:db8::192.0.0.169", "fe80::192.0.0.17"] {
            assert_eq!(found_in(&[address.parse().unwrap()]), [], "{address}");
        }
        assert_eq!(found_in(&[]), []);
    }
}
