//! Queries the name servers, with limits of concurrent look-ups per user and in total.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::{DnsError, NetError, NoRecords};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::Name;
use kitbag_base::turns::Turns;
use tokio::time::timeout;

use super::LookupError;
use super::cache::Outcome;
use super::config::{Config, Source};

/// Maximum numbers of concurrent look-ups, per user and in total. Each uses up to eight sockets while the
/// name servers do not answer: two record types, four attempts.
const MAX_LOOKUPS_PER_USER: usize = 6;
const MAX_LOOKUPS: usize = 48;

/// Maximum number of addresses per family that are taken from an answer.
const MAX_ADDRESSES_PER_FAMILY: usize = 8;

/// Minimum and maximum cache time of an answer, whatever its TTL.
const MIN_LIFETIME: Duration = Duration::from_secs(1);
const MAX_LIFETIME: Duration = Duration::from_mins(5);
/// Maximum cache time of a negative answer.
const MAX_NEGATIVE_LIFETIME: Duration = Duration::from_mins(1);
/// Cache time of a failure (RFC 9520, section 3.2: at least a second).
const FAILURE_LIFETIME: Duration = MIN_LIFETIME;

/// Resolver that queries the name servers on behalf of users.
#[derive(Debug)]
pub(in crate::egress) struct Dns {
    config: Config,
    turns: Turns,
}

impl Dns {
    pub(super) fn new(source: Source) -> Self {
        Self { config: Config::new(source), turns: Turns::new(MAX_LOOKUPS, MAX_LOOKUPS_PER_USER) }
    }

    /// Returns the addresses of a name: from the hosts file, from the cache, or else from the name
    /// servers, once a look-up of the user's share is free.
    pub(super) async fn lookup(&self, name: &str, user: &Arc<str>) -> Result<Vec<IpAddr>, LookupError> {
        // `from_ascii` permits underscores, which names of internal services may contain.
        let question = Name::from_ascii(name).map_err(|_| LookupError::InvalidName)?;
        let current = self.config.current().await;
        let of_hosts = current.host(&question);
        if !of_hosts.is_empty() {
            return Ok(of_hosts);
        }
        // RFC 6761, section 6.3: `localhost` is never sent to a name server.
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let resolver = current.resolver.as_ref().ok_or(LookupError::NoNameServer)?;
        if let Some(known) = current.answers.get(name).await {
            return known.map(|addresses| addresses.to_vec());
        }
        let _turn = self.turns.take(user).await;
        // Another request may have cached the answer meanwhile.
        if let Some(known) = current.answers.get(name).await {
            return known.map(|addresses| addresses.to_vec());
        }
        let (outcome, lifetime) = ask(resolver, question, self.config.timeout()).await;
        current.answers.keep(name, outcome.clone(), lifetime).await;
        outcome.map(|addresses| addresses.to_vec())
    }

    /// See [`Resolver::ipv4_only`](super::Resolver::ipv4_only). Empty if no name server is configured.
    pub(super) async fn ipv4_only(&self) -> Result<Vec<Ipv6Addr>, LookupError> {
        let current = self.config.current().await;
        let Some(resolver) = &current.resolver else { return Ok(Vec::new()) };
        match timeout(self.config.timeout(), resolver.ipv6_lookup("ipv4only.arpa.")).await {
            Ok(Ok(lookup)) => {
                let addresses = lookup.answers().iter().filter_map(|record| record.data.ip_addr());
                Ok(addresses.filter_map(|it| if let IpAddr::V6(it) = it { Some(it) } else { None }).collect())
            }
            Ok(Err(error)) => match reason(&error) {
                (LookupError::NotFound, _) => Ok(Vec::new()),
                (failure, _) => Err(failure),
            },
            Err(_elapsed) => Err(LookupError::Timeout),
        }
    }
}

/// Asks for both address families. Returns the outcome and how long to cache it.
async fn ask(resolver: &TokioResolver, question: Name, within: Duration) -> (Outcome, Duration) {
    match timeout(within, resolver.lookup_ip(question)).await {
        Ok(Ok(found)) => {
            let lifetime = found.valid_until().saturating_duration_since(Instant::now());
            let addresses = interleaved(&found);
            if addresses.is_empty() {
                return (Err(LookupError::NotFound), MIN_LIFETIME);
            }
            (Ok(addresses), lifetime.clamp(MIN_LIFETIME, MAX_LIFETIME))
        }
        Ok(Err(error)) => {
            let (reason, lifetime) = reason(&error);
            (Err(reason), lifetime)
        }
        Err(_elapsed) => (Err(LookupError::Timeout), FAILURE_LIFETIME),
    }
}

/// Interleaves the address families, IPv6 first (RFC 8305, section 4), so that both are among the few
/// addresses that are tried.
fn interleaved(found: &LookupIp) -> Arc<[IpAddr]> {
    let of_family =
        |is_v6: bool| found.iter().filter(move |it| it.is_ipv6() == is_v6).take(MAX_ADDRESSES_PER_FAMILY);
    let mut v6 = of_family(true);
    let mut v4 = of_family(false);
    let mut addresses = Vec::new();
    loop {
        let pair = [v6.next(), v4.next()];
        if pair == [None, None] {
            return addresses.into();
        }
        addresses.extend(pair.into_iter().flatten());
    }
}

/// Converts a resolver error to the reason and its cache time.
fn reason(error: &NetError) -> (LookupError, Duration) {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(NoRecords {
            response_code: ResponseCode::NXDomain | ResponseCode::NoError,
            negative_ttl,
            ..
        })) => {
            let lifetime = Duration::from_secs(negative_ttl.unwrap_or_default().into());
            (LookupError::NotFound, lifetime.clamp(MIN_LIFETIME, MAX_NEGATIVE_LIFETIME))
        }
        NetError::Timeout => (LookupError::Timeout, FAILURE_LIFETIME),
        _ => (LookupError::Failed, FAILURE_LIFETIME),
    }
}
