//! Limits for completing sign-ins: each sign-in is completed at most once, with rate and concurrency limits
//! per IP address. Anybody can begin and complete a sign-in, and the requests to the provider are sent in the
//! server's name.

use std::collections::{HashSet, VecDeque};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use kitbag_base::turns::{Turn, Turns};

use super::ProviderError;

/// Maximum number of concurrent code redemptions at the provider. Further ones wait; waiting addresses take
/// turns.
const MAX_REDEMPTIONS: usize = 32;
/// Maximum number of concurrent code redemptions per IP address.
const MAX_REDEMPTIONS_PER_ADDRESS: usize = 8;
/// Maximum number of completed sign-ins per IP address and minute. Each person behind an address signs in
/// once in weeks.
const ATTEMPTS_A_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("not zero");
/// Maximum number of recorded completed sign-ins. Beyond it, the oldest is dropped.
const MAX_SPENT: usize = 1 << 16;
/// Number of tracked addresses above which those without a recent attempt are dropped.
const MAX_ADDRESSES: usize = 4096;

/// Limiter of attempts to complete a sign-in.
pub(super) struct Attempts {
    turns: Turns,
    rate: DefaultKeyedRateLimiter<IpAddr>,
    clock: DefaultClock,
    spent: Mutex<Spent>,
}

/// `state` values of completed sign-ins, in the order of completion.
#[derive(Default)]
struct Spent {
    states: HashSet<String>,
    order: VecDeque<String>,
}

impl Attempts {
    pub(super) fn new() -> Self {
        Self {
            turns: Turns::new(MAX_REDEMPTIONS, MAX_REDEMPTIONS_PER_ADDRESS),
            rate: DefaultKeyedRateLimiter::keyed(Quota::per_minute(ATTEMPTS_A_MINUTE)),
            clock: DefaultClock::default(),
            spent: Mutex::default(),
        }
    }

    /// Marks the sign-in with this `state` as completed. Fails if it already is.
    pub(super) fn spend(&self, state: &str) -> Result<(), ProviderError> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if !spent.states.insert(state.to_owned()) {
            return Err(ProviderError::NotPending);
        }
        spent.order.push_back(state.to_owned());
        if spent.order.len() > MAX_SPENT
            && let Some(oldest) = spent.order.pop_front()
        {
            spent.states.remove(&oldest);
        }
        Ok(())
    }

    /// Waits for permission to send a request to the provider for a browser at `address`; behind a proxy, the
    /// address is unknown. Fails above the rate limit.
    pub(super) async fn turn(&self, address: Option<IpAddr>) -> Result<Turn, ProviderError> {
        let Some(address) = address else { return Ok(self.turns.take("").await) };
        if self.rate.len() > MAX_ADDRESSES {
            self.rate.retain_recent();
        }
        self.rate.check_key(&address).map_err(|until| {
            let seconds = until.wait_time_from(self.clock.now()).as_secs() + 1;
            ProviderError::TooManyAttempts { seconds }
        })?;
        Ok(self.turns.take(&address.to_string()).await)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::FutureExt;

    use super::*;

    const ONE: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    const OTHER: Option<IpAddr> = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)));

    #[test]
    fn a_sign_in_ends_once() {
        let attempts = Attempts::new();

        assert!(attempts.spend("a").is_ok() && attempts.spend("b").is_ok());
        assert!(matches!(attempts.spend("a"), Err(ProviderError::NotPending)));
        for other in 0..MAX_SPENT {
            assert!(attempts.spend(&other.to_string()).is_ok());
        }
        let spent = attempts.spent.lock().expect("nothing panics");
        assert_eq!((spent.states.len(), spent.order.len()), (MAX_SPENT, MAX_SPENT));
    }

    #[tokio::test]
    async fn an_address_has_a_share_of_the_turns_and_of_the_attempts() {
        let attempts = Attempts::new();
        let mut held = Vec::new();
        for _ in 0..MAX_REDEMPTIONS_PER_ADDRESS {
            held.push(attempts.turn(ONE).await.expect("its attempts are few"));
        }

        assert!(attempts.turn(ONE).now_or_never().is_none(), "it waits for its own");
        assert!(matches!(attempts.turn(OTHER).now_or_never(), Some(Ok(_))));

        held.clear();
        let mut refused = None;
        for _ in 0..ATTEMPTS_A_MINUTE.get() {
            refused = attempts.turn(ONE).await.err();
        }
        assert!(matches!(refused, Some(ProviderError::TooManyAttempts { seconds: 1..=60 })), "{refused:?}");
        assert!(attempts.turn(OTHER).await.is_ok());
        assert!(attempts.turn(None).await.is_ok());
    }
}
