//! Limits open connections: per address, without a signed-in user, in a TLS handshake, and in total. Above a
//! limit, a new connection evicts another, first the oldest one without a user.
//!
//! Invariant: a connection of a signed-in user is never evicted while a candidate for eviction has no user.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use kitbag_web::{ConnectionState, Priority};
use tokio_util::sync::CancellationToken;

/// Limits on the number of open connections.
#[derive(Clone, Debug)]
pub(in crate::app) struct ConnectionLimits {
    /// Total limit. Connections without a user may use three quarters of it, TLS handshakes one quarter.
    pub(in crate::app) total: usize,
    /// Limit per client address.
    pub(in crate::app) per_address: usize,
    /// Addresses of proxies, which connect for many clients: no limit per address applies to them.
    pub(in crate::app) proxies: Vec<IpNet>,
}

/// Registry of open connections. Clones share it.
#[derive(Clone)]
pub(super) struct ConnectionSlots(Arc<Inner>);

struct Inner {
    limits: ConnectionLimits,
    state: Mutex<SlotsState>,
}

#[derive(Default)]
struct SlotsState {
    next: u64,
    connections: HashMap<u64, Connection>,
    handshakes: usize,
    per_address_counts: HashMap<IpAddr, usize>,
}

struct Connection {
    /// `None` for a proxy, and on a Unix socket.
    address: Option<IpAddr>,
    phase: Phase,
    state: ConnectionState,
    evicted: CancellationToken,
}

/// Protocol phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// TLS handshake in progress.
    Handshake,
    /// HTTP.
    Http,
}

/// The slot of one open connection. Dropping it frees the slot.
pub(super) struct ConnectionSlot {
    slots: ConnectionSlots,
    id: u64,
    pub(super) state: ConnectionState,
    /// Cancelled when the connection is evicted.
    pub(super) evicted: CancellationToken,
}

impl ConnectionSlots {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(Inner { limits, state: Mutex::default() }))
    }

    /// Returns a slot for a connection from `peer`, evicting another connection if necessary; `None` if all
    /// others have a higher priority. `peer` is `None` on a Unix socket, whose clients are trusted like a
    /// proxy.
    pub(super) fn take(&self, peer: Option<IpAddr>, phase: Phase) -> Option<ConnectionSlot> {
        let ConnectionLimits { total, per_address, proxies } = &self.0.limits;
        let max_anonymous = (total - total / 4).max(1);
        let address = peer.and_then(|peer| client(peer, proxies));
        let mut state = self.lock();
        let of_address = address.and_then(|address| state.per_address_counts.get(&address)).copied();
        if of_address.unwrap_or_default() >= *per_address {
            state.evict(|connection| connection.address == address, (per_address / 8).max(1))?;
        } else if state.connections.len() >= *total {
            state.evict(|_| true, total / 8)?;
        } else if state.connections.len() >= max_anonymous && state.anonymous() >= max_anonymous {
            state.evict(|_| true, usize::MAX)?;
        }
        // A handshake buffers the received part of a message, up to 64 KiB.
        if phase == Phase::Handshake && state.handshakes >= (total / 4).max(1) {
            state.evict(|connection| connection.phase == Phase::Handshake, usize::MAX)?;
        }
        let slot = ConnectionSlot {
            slots: self.clone(),
            id: state.next,
            state: ConnectionState::new(address),
            evicted: CancellationToken::new(),
        };
        let evicted = slot.evicted.clone();
        state.insert(Connection { address, phase, state: slot.state.clone(), evicted });
        Some(slot)
    }

    /// Evicts the connection with the lowest priority, because the machine has no resources for another.
    pub(super) fn make_room(&self) {
        // If none can be evicted, the new connection stays in the accept queue.
        let _ = self.lock().evict(|_| true, usize::MAX);
    }

    fn lock(&self) -> MutexGuard<'_, SlotsState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Marks the TLS handshake as completed.
    pub(super) fn end_handshake(&self) {
        let mut state = self.slots.lock();
        // An evicted connection has already been removed.
        if let Some(connection) = state.connections.get_mut(&self.id)
            && connection.phase == Phase::Handshake
        {
            connection.phase = Phase::Http;
            state.handshakes -= 1;
        }
    }
}

impl SlotsState {
    fn insert(&mut self, connection: Connection) {
        self.handshakes += usize::from(connection.phase == Phase::Handshake);
        if let Some(address) = connection.address {
            *self.per_address_counts.entry(address).or_default() += 1;
        }
        self.connections.insert(self.next, connection);
        self.next += 1;
    }

    fn remove(&mut self, id: u64) -> Option<Connection> {
        let connection = self.connections.remove(&id)?;
        self.handshakes -= usize::from(connection.phase == Phase::Handshake);
        if let Some(address) = connection.address {
            match self.per_address_counts.get_mut(&address) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.per_address_counts.remove(&address)),
            }
        }
        Some(connection)
    }

    /// The number of connections without a user.
    fn anonymous(&self) -> usize {
        self.connections
            .values()
            .filter(|connection| connection.state.priority().0 == Priority::Anonymous)
            .count()
    }

    /// Evicts the candidate with the lowest priority; among equals, the one that has had this priority
    /// longest. A connection with a user's request in progress is evicted only if that user has more than
    /// `share` candidates.
    fn evict(&mut self, candidates: impl Fn(&Connection) -> bool, share: usize) -> Option<()> {
        let candidates = self.connections.iter().filter(|(_, connection)| candidates(connection));
        let priorities: Vec<_> =
            candidates.map(|(id, connection)| (connection.state.priority(), *id)).collect();
        let mut of_users = HashMap::<&str, usize>::new();
        for ((priority, _), _) in &priorities {
            if let Priority::Idle(user) | Priority::Serving(user) = priority {
                *of_users.entry(user).or_default() += 1;
            }
        }
        let rank = |priority: &Priority| match priority {
            Priority::Anonymous => Some(0),
            Priority::Idle(_) => Some(1),
            Priority::Serving(user) => (of_users[&**user] > share).then_some(2),
        };
        let ranked =
            priorities.iter().filter_map(|((priority, since), id)| Some((rank(priority)?, since, id)));
        let (_, _, id) = ranked.min()?;
        self.remove(*id)?.evicted.cancel();
        Some(())
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        // An evicted connection has already been removed.
        let _ = self.slots.lock().remove(self.id);
    }
}

/// Client address that a connection counts against: an IPv4 address, or an IPv6 /64 network, which is what
/// one subscriber gets (RFC 6177). `None` for a proxy.
fn client(peer: IpAddr, proxies: &[IpNet]) -> Option<IpAddr> {
    let peer = peer.to_canonical();
    if proxies.iter().any(|range| range.contains(&peer)) {
        return None;
    }
    Some(match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    })
}

#[cfg(test)]
mod tests {
    use kitbag_web::UnderWay;

    use super::*;

    const ANYWHERE: usize = usize::MAX;

    fn slots(total: usize, per_address: usize, proxies: &[&str]) -> ConnectionSlots {
        let proxies = proxies.iter().map(|range| range.parse().expect("a range")).collect();
        ConnectionSlots::new(ConnectionLimits { total, per_address, proxies })
    }

    fn take(slots: &ConnectionSlots, address: &str) -> Option<ConnectionSlot> {
        slots.take(Some(address.parse().expect("an address")), Phase::Http)
    }

    fn shake_hands(slots: &ConnectionSlots, address: &str) -> Option<ConnectionSlot> {
        slots.take(Some(address.parse().expect("an address")), Phase::Handshake)
    }

    fn sign_in(slot: &ConnectionSlot, user: &str) -> UnderWay {
        let request = slot.state.begin();
        slot.state.sign_in(user);
        request
    }

    fn evicted(slots: &[ConnectionSlot]) -> Vec<usize> {
        (0..slots.len()).filter(|slot| slots[*slot].evicted.is_cancelled()).collect()
    }

    #[test]
    fn one_address_takes_its_own_places_and_no_others() {
        let slots = slots(100, 3, &[]);
        let other = take(&slots, "192.0.2.1").expect("there is room");

        let flood: Vec<_> = (0..10).map(|_| take(&slots, "192.0.2.2").expect("the oldest goes")).collect();

        assert_eq!(evicted(&flood), [0, 1, 2, 3, 4, 5, 6]);
        assert!(!other.evicted.is_cancelled());
    }

    #[test]
    fn one_user_behind_an_address_leaves_room_for_others_behind_it() {
        let slots = slots(100, 16, &[]);
        let of_eve: Vec<_> = (0..16).map(|_| take(&slots, "192.0.2.1").expect("there is room")).collect();
        let _serving: Vec<_> = of_eve.iter().map(|slot| sign_in(slot, "eve")).collect();

        let mut of_ana = Vec::new();
        let mut serving = Vec::new();
        for _ in 0..2 {
            of_ana.push(take(&slots, "192.0.2.1").expect("eve has too many"));
            serving.extend(of_ana.last().map(|slot| sign_in(slot, "ana")));
        }
        let more: Vec<_> = (0..16).map(|_| take(&slots, "192.0.2.1").expect("eve has too many")).collect();

        assert_eq!(
            (evicted(&of_eve), evicted(&of_ana)),
            (vec![0, 1, 2], vec![]),
            "two, and one for a stranger"
        );
        assert!(!more[15].evicted.is_cancelled(), "the newest is there");
    }

    #[test]
    fn a_network_of_64_bits_and_a_mapped_address_count_as_one() {
        for (one, same, other) in [
            ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"),
            ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ] {
            let slots = slots(100, 1, &[]);
            let first = take(&slots, one).expect("there is room");
            let _other = take(&slots, other).expect("there is room");
            assert!(!first.evicted.is_cancelled(), "{other}");

            let _second = take(&slots, same).expect("the first goes");
            assert!(first.evicted.is_cancelled(), "{same}");
        }
    }

    #[test]
    fn a_proxy_connects_for_many() {
        let slots = slots(100, 2, &["10.0.0.0/8"]);

        let of_proxy: Vec<_> = (0..50).map(|_| take(&slots, "10.1.2.3").expect("there is room")).collect();

        assert_eq!(evicted(&of_proxy), [0; 0]);
    }

    #[test]
    fn strangers_leave_room_for_those_who_sign_in_and_never_take_their_places() {
        let slots = slots(8, ANYWHERE, &[]);
        let ana = take(&slots, "192.0.2.1").expect("there is room");
        drop(sign_in(&ana, "ana"));

        let flood: Vec<_> = (0..50).map(|_| take(&slots, "192.0.2.2").expect("the oldest goes")).collect();

        assert_eq!(evicted(&flood), (0..44).collect::<Vec<_>>(), "six of eight slots are theirs");
        assert!(!ana.evicted.is_cancelled());
        let ben = take(&slots, "192.0.2.3").expect("the oldest goes");
        assert_eq!(evicted(&flood).len(), 45);
        assert!(!ben.evicted.is_cancelled());
    }

    #[test]
    fn a_stranger_who_waits_for_a_body_gives_way_like_one_who_says_nothing() {
        let slots = slots(4, ANYWHERE, &[]);
        let slow = take(&slots, "192.0.2.2").expect("there is room");
        let _request = slow.state.begin();

        let _more: Vec<_> = (0..3).map(|_| take(&slots, "192.0.2.2").expect("the oldest goes")).collect();

        assert!(slow.evicted.is_cancelled());
    }

    #[test]
    fn when_all_have_signed_in_the_idle_give_way_then_whoever_has_most_then_nobody() {
        let slots = slots(8, ANYWHERE, &[]);
        let ana = take(&slots, "192.0.2.1").unwrap();
        let ben = take(&slots, "192.0.2.2").unwrap();
        let _of_ana = sign_in(&ana, "ana");
        drop(sign_in(&ben, "ben"));
        let of_eve: Vec<_> = (0..6).map(|_| take(&slots, "192.0.2.3").unwrap()).collect();
        let _serving: Vec<_> = of_eve.iter().map(|slot| sign_in(slot, "eve")).collect();

        let cas = take(&slots, "192.0.2.4").expect("ben is idle");
        let _of_cas = sign_in(&cas, "cas");
        assert!(ben.evicted.is_cancelled());
        let dan = take(&slots, "192.0.2.5").expect("eve has too many");
        let _of_dan = sign_in(&dan, "dan");
        assert_eq!((evicted(&of_eve).len(), ana.evicted.is_cancelled()), (1, false));

        let mut others = Vec::new();
        for user in 0..4 {
            let slot = take(&slots, "192.0.2.6").expect("eve has too many");
            let request = sign_in(&slot, &user.to_string());
            others.push((slot, request));
        }
        assert_eq!(evicted(&of_eve).len(), 5);
        assert!(take(&slots, "192.0.2.7").is_none(), "everybody has one, and uses it");
    }

    #[test]
    fn handshakes_give_way_to_handshakes_and_take_the_place_of_nobody_else() {
        let slots = slots(16, ANYWHERE, &[]);
        let ana = shake_hands(&slots, "192.0.2.1").expect("there is room");
        ana.end_handshake();
        let stranger = take(&slots, "192.0.2.2").expect("there is room");

        let flood: Vec<_> =
            (0..20).map(|_| shake_hands(&slots, "192.0.2.3").expect("the oldest goes")).collect();

        assert_eq!(evicted(&flood), (0..16).collect::<Vec<_>>(), "four of sixteen slots are for handshakes");
        assert!(!ana.evicted.is_cancelled() && !stranger.evicted.is_cancelled());
        flood[16].end_handshake();
        let _next = shake_hands(&slots, "192.0.2.4").expect("one has ended");
        assert_eq!(evicted(&flood).len(), 16);
    }

    #[test]
    fn what_is_closed_is_forgotten() {
        let slots = slots(4, 2, &[]);

        for _ in 0..20 {
            let _one = take(&slots, "192.0.2.1");
            let _two = shake_hands(&slots, "192.0.2.1");
            let three = shake_hands(&slots, "192.0.2.1");
            three.iter().for_each(ConnectionSlot::end_handshake);
        }

        let state = slots.lock();
        assert!(state.connections.is_empty() && state.per_address_counts.is_empty());
        assert_eq!(state.handshakes, 0);
    }
}
