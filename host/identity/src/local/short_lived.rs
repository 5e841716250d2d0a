//! Bounded in-memory store for values that live for minutes and need not survive a restart.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use kitbag_base::sha256::{Digest, Sha256};

use super::secret::random_text;

/// Values that are found only by the secret issued for each.
///
/// Look-ups are linear: there are at most [`MAX_ENTRIES`].
#[derive(Debug)]
pub(super) struct ShortLived<T> {
    lifetime: Duration,
    /// Entries, oldest first.
    entries: VecDeque<ExpiringValue<T>>,
}

#[derive(Debug)]
struct ExpiringValue<T> {
    digest: Digest,
    expires: Instant,
    value: T,
}

/// Maximum number of entries; beyond it, the oldest is evicted.
const MAX_ENTRIES: usize = 256;

impl<T> ShortLived<T> {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { lifetime, entries: VecDeque::new() }
    }

    /// Stores the value, and returns its secret: 256 random bits in base64url.
    pub(super) fn keep(&mut self, value: T) -> String {
        self.forget_expired();
        if self.entries.len() >= MAX_ENTRIES {
            self.entries.pop_front();
        }
        let secret = random_text::<32>();
        let expires = Instant::now() + self.lifetime;
        self.entries.push_back(ExpiringValue { digest: Sha256::digest(&secret), expires, value });
        secret
    }

    /// Returns the value of this secret; `None` if unknown or expired.
    pub(super) fn get_mut(&mut self, secret: &str) -> Option<&mut T> {
        let index = self.position(secret)?;
        self.entries.get_mut(index).map(|entry| &mut entry.value)
    }

    /// Removes and returns the value of this secret; `None` if unknown or expired.
    pub(super) fn take(&mut self, secret: &str) -> Option<T> {
        let index = self.position(secret)?;
        self.entries.remove(index).map(|entry| entry.value)
    }

    fn position(&mut self, secret: &str) -> Option<usize> {
        self.forget_expired();
        let digest = Sha256::digest(secret);
        self.entries.iter().position(|entry| entry.digest == digest)
    }

    fn forget_expired(&mut self) {
        let now = Instant::now();
        while self.entries.front().is_some_and(|entry| entry.expires <= now) {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_with_its_secret_until_it_is_taken() {
        let mut memory = ShortLived::new(Duration::from_mins(1));
        let first = memory.keep(1);
        let second = memory.keep(2);

        assert_eq!(memory.get_mut(&second), Some(&mut 2));
        assert_eq!(memory.take(&first), Some(1));
        assert_eq!(memory.take(&first), None);
        assert_eq!(memory.take("guess"), None);
    }

    #[test]
    fn a_value_is_forgotten_when_its_time_is_over() {
        let mut memory = ShortLived::new(Duration::ZERO);
        let secret = memory.keep(1);

        assert_eq!(memory.take(&secret), None);
        assert!(memory.entries.is_empty());
    }

    #[test]
    fn beyond_the_capacity_the_oldest_is_forgotten() {
        let mut memory = ShortLived::new(Duration::from_mins(1));
        let oldest = memory.keep(0);
        let second = memory.keep(1);
        for value in 2..=MAX_ENTRIES {
            memory.keep(value);
        }

        assert_eq!(memory.take(&oldest), None);
        assert_eq!(memory.take(&second), Some(1));
        assert!(memory.entries.len() <= MAX_ENTRIES);
    }
}
