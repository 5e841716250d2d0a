//! Limits how many connections are open: of one address, without a signed-in user, and in all. Beyond a limit a new
//! connection replaces another: first the oldest without a user.
//!
//! Invariant: a connection of a user is never closed for one without.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use tokio_util::sync::CancellationToken;

use crate::web::{Priority, Standing};

/// How many connections may be open at the same time.
#[derive(Clone, Debug)]
pub(in crate::app) struct ConnectionLimits {
    /// In all; strangers have three quarters of it.
    pub(in crate::app) in_all: usize,
    /// Of one address.
    pub(in crate::app) per_address: usize,
    /// Addresses of proxies, which connect for many and are not limited by address.
    pub(in crate::app) proxies: Vec<IpNet>,
}

/// The open connections; a clone shares them.
#[derive(Clone)]
pub(super) struct Places(Arc<Inner>);

struct Inner {
    limits: ConnectionLimits,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    occupants: HashMap<u64, Occupant>,
    of_addresses: HashMap<IpAddr, usize>,
}

struct Occupant {
    /// `None` for a proxy.
    address: Option<IpAddr>,
    standing: Standing,
    evicted: CancellationToken,
}

/// The place of one open connection; dropped, it is free.
pub(super) struct Place {
    places: Places,
    id: u64,
    pub(super) standing: Standing,
    /// Cancelled when another connection takes the place.
    pub(super) evicted: CancellationToken,
}

impl Places {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(Inner { limits, taken: Mutex::default() }))
    }

    /// Gives a connection from `peer` a place, if need be that of another; `None` where all others are more important.
    pub(super) fn take(&self, peer: IpAddr) -> Option<Place> {
        let ConnectionLimits { in_all, per_address, proxies } = &self.0.limits;
        let strangers = (in_all - in_all / 4).max(1);
        let address = client(peer, proxies);
        let mut taken = self.lock();
        let of_address = address.and_then(|address| taken.of_addresses.get(&address)).copied();
        if of_address.unwrap_or_default() >= *per_address {
            taken.evict(|occupant| occupant.address == address, (per_address / 8).max(1))?;
        } else if taken.occupants.len() >= *in_all {
            taken.evict(|_| true, in_all / 8)?;
        } else if taken.occupants.len() >= strangers && taken.strangers() >= strangers {
            taken.evict(|_| true, usize::MAX)?;
        }
        let place = Place {
            places: self.clone(),
            id: taken.next,
            standing: Standing::default(),
            evicted: CancellationToken::new(),
        };
        taken.insert(Occupant { address, standing: place.standing.clone(), evicted: place.evicted.clone() });
        Some(place)
    }

    /// Closes the least important connection, because the machine has no room for another.
    pub(super) fn make_room(&self) {
        // Where none can be closed, the new connection goes on waiting to be accepted.
        let _ = self.lock().evict(|_| true, usize::MAX);
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn insert(&mut self, occupant: Occupant) {
        if let Some(address) = occupant.address {
            *self.of_addresses.entry(address).or_default() += 1;
        }
        self.occupants.insert(self.next, occupant);
        self.next += 1;
    }

    fn remove(&mut self, id: u64) -> Option<Occupant> {
        let occupant = self.occupants.remove(&id)?;
        if let Some(address) = occupant.address {
            match self.of_addresses.get_mut(&address) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.of_addresses.remove(&address)),
            }
        }
        Some(occupant)
    }

    fn strangers(&self) -> usize {
        self.occupants
            .values()
            .filter(|occupant| occupant.standing.priority().0 == Priority::Stranger)
            .count()
    }

    /// Closes the connection among `candidates` that is least important, and has been for longest. One that serves a
    /// user is closed only where that user has more than `share`.
    fn evict(&mut self, candidates: impl Fn(&Occupant) -> bool, share: usize) -> Option<()> {
        let candidates = self.occupants.iter().filter(|(_, occupant)| candidates(occupant));
        let priorities: Vec<_> =
            candidates.map(|(id, occupant)| (occupant.standing.priority(), *id)).collect();
        let mut of_users = HashMap::<&str, usize>::new();
        for ((priority, _), _) in &priorities {
            if let Priority::Idle(user) | Priority::Serving(user) = priority {
                *of_users.entry(user).or_default() += 1;
            }
        }
        let rank = |priority: &Priority| match priority {
            Priority::Stranger => Some(0),
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

impl Drop for Place {
    fn drop(&mut self) {
        // One that was evicted has been removed already.
        let _ = self.places.lock().remove(self.id);
    }
}

/// Whom a connection counts for: an IPv4 address or an IPv6 network of 64 bits, which is what one
/// subscriber gets (RFC 6177). Nobody, for a proxy.
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
    use super::*;
    use crate::web::UnderWay;

    const ANYWHERE: usize = usize::MAX;

    fn places(in_all: usize, per_address: usize, proxies: &[&str]) -> Places {
        let proxies = proxies.iter().map(|range| range.parse().expect("a range")).collect();
        Places::new(ConnectionLimits { in_all, per_address, proxies })
    }

    fn take(places: &Places, address: &str) -> Option<Place> {
        places.take(address.parse().expect("an address"))
    }

    fn sign_in(place: &Place, user: &str) -> UnderWay {
        let request = place.standing.begin();
        place.standing.sign_in(user);
        request
    }

    fn evicted(places: &[Place]) -> Vec<usize> {
        (0..places.len()).filter(|place| places[*place].evicted.is_cancelled()).collect()
    }

    #[test]
    fn one_address_takes_its_own_places_and_no_others() {
        let places = places(100, 3, &[]);
        let other = take(&places, "192.0.2.1").expect("there is room");

        let flood: Vec<_> = (0..10).map(|_| take(&places, "192.0.2.2").expect("the oldest goes")).collect();

        assert_eq!(evicted(&flood), [0, 1, 2, 3, 4, 5, 6]);
        assert!(!other.evicted.is_cancelled());
    }

    #[test]
    fn one_user_behind_an_address_leaves_room_for_others_behind_it() {
        let places = places(100, 16, &[]);
        let of_eve: Vec<_> = (0..16).map(|_| take(&places, "192.0.2.1").expect("there is room")).collect();
        let _serving: Vec<_> = of_eve.iter().map(|place| sign_in(place, "eve")).collect();

        let (mut of_ana, mut serving) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            of_ana.push(take(&places, "192.0.2.1").expect("eve has too many"));
            serving.extend(of_ana.last().map(|place| sign_in(place, "ana")));
        }
        let more: Vec<_> = (0..16).map(|_| take(&places, "192.0.2.1").expect("eve has too many")).collect();

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
            let places = places(100, 1, &[]);
            let first = take(&places, one).expect("there is room");
            let _other = take(&places, other).expect("there is room");
            assert!(!first.evicted.is_cancelled(), "{other}");

            let _second = take(&places, same).expect("the first goes");
            assert!(first.evicted.is_cancelled(), "{same}");
        }
    }

    #[test]
    fn a_proxy_connects_for_many() {
        let places = places(100, 2, &["10.0.0.0/8"]);

        let of_proxy: Vec<_> = (0..50).map(|_| take(&places, "10.1.2.3").expect("there is room")).collect();

        assert_eq!(evicted(&of_proxy), [0; 0]);
    }

    #[test]
    fn strangers_leave_room_for_those_who_sign_in_and_never_take_their_places() {
        let places = places(8, ANYWHERE, &[]);
        let ana = take(&places, "192.0.2.1").expect("there is room");
        drop(sign_in(&ana, "ana"));

        let flood: Vec<_> = (0..50).map(|_| take(&places, "192.0.2.2").expect("the oldest goes")).collect();

        assert_eq!(evicted(&flood), (0..44).collect::<Vec<_>>(), "six of eight places are theirs");
        assert!(!ana.evicted.is_cancelled());
        let ben = take(&places, "192.0.2.3").expect("the oldest goes");
        assert_eq!(evicted(&flood).len(), 45);
        assert!(!ben.evicted.is_cancelled());
    }

    #[test]
    fn a_stranger_who_waits_for_a_body_gives_way_like_one_who_says_nothing() {
        let places = places(4, ANYWHERE, &[]);
        let slow = take(&places, "192.0.2.2").expect("there is room");
        let _request = slow.standing.begin();

        let _more: Vec<_> = (0..3).map(|_| take(&places, "192.0.2.2").expect("the oldest goes")).collect();

        assert!(slow.evicted.is_cancelled());
    }

    #[test]
    fn when_all_have_signed_in_the_idle_give_way_then_whoever_has_most_then_nobody() {
        let places = places(8, ANYWHERE, &[]);
        let (ana, ben) = (take(&places, "192.0.2.1").unwrap(), take(&places, "192.0.2.2").unwrap());
        let _of_ana = sign_in(&ana, "ana");
        drop(sign_in(&ben, "ben"));
        let of_eve: Vec<_> = (0..6).map(|_| take(&places, "192.0.2.3").unwrap()).collect();
        let _serving: Vec<_> = of_eve.iter().map(|place| sign_in(place, "eve")).collect();

        let cas = take(&places, "192.0.2.4").expect("ben is idle");
        let _of_cas = sign_in(&cas, "cas");
        assert!(ben.evicted.is_cancelled());
        let dan = take(&places, "192.0.2.5").expect("eve has too many");
        let _of_dan = sign_in(&dan, "dan");
        assert_eq!((evicted(&of_eve).len(), ana.evicted.is_cancelled()), (1, false));

        let mut others = Vec::new();
        for user in 0..4 {
            let place = take(&places, "192.0.2.6").expect("eve has too many");
            let request = sign_in(&place, &user.to_string());
            others.push((place, request));
        }
        assert_eq!(evicted(&of_eve).len(), 5);
        assert!(take(&places, "192.0.2.7").is_none(), "everybody has one, and uses it");
    }

    #[test]
    fn what_is_closed_is_forgotten() {
        let places = places(4, 2, &[]);

        for _ in 0..20 {
            let _one = take(&places, "192.0.2.1");
            let _two = take(&places, "192.0.2.1");
            let _three = take(&places, "192.0.2.1");
        }

        let taken = places.lock();
        assert!(taken.occupants.is_empty() && taken.of_addresses.is_empty());
    }
}
