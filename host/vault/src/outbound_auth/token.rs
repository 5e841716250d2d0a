//! A bearer token and its lifetime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// Time before its expiry from which a token is replaced.
const RENEWAL_MARGIN: Duration = Duration::from_mins(1);
/// Lifetime of a token without `expires_in`.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(1);
/// Maximum lifetime; longer ones are reduced to it.
const MAX_LIFETIME: Duration = Duration::from_hours(24 * 365);

/// Maximum length of a token, in bytes; servers refuse longer headers.
pub(super) const MAX_TOKEN_BYTES: usize = 16 << 10;

/// A bearer token (RFC 6750). A clone is the same token.
#[derive(Clone, Debug)]
pub(super) struct Token {
    value: SecretString,
    header: HeaderValue,
    use_until: Instant,
    /// Identifies the grant: two grants may return the same text, but only one of them was refused.
    identity: Arc<()>,
}

impl Token {
    /// Creates a token that was requested at `requested_at` and is valid for `lifetime` from then. `None`
    /// if it is not valid in a header.
    pub(super) fn new(
        value: SecretString,
        requested_at: Instant,
        lifetime: Option<Duration>,
    ) -> Option<Self> {
        let text = value.expose_secret();
        if text.is_empty()
            || text.len() > MAX_TOKEN_BYTES
            || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return None;
        }
        let mut header = HeaderValue::try_from(format!("Bearer {text}")).ok()?;
        header.set_sensitive(true);
        let use_until = requested_at + usable_for(lifetime);
        Some(Self { value, header, use_until, identity: Arc::new(()) })
    }

    /// Returns the value of the `Authorization` header.
    pub(super) fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    pub(super) fn value(&self) -> SecretString {
        self.value.clone()
    }

    pub(super) fn expose(&self) -> &str {
        self.value.expose_secret()
    }

    /// Returns whether the token may still be used: the renewal margin has not begun.
    pub(super) fn is_valid(&self) -> bool {
        self.is_valid_at(Instant::now())
    }

    pub(super) fn is_valid_at(&self, now: Instant) -> bool {
        now < self.use_until
    }

    /// Returns whether both come from the same grant.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.identity, &other.identity)
    }
}

/// Returns the time for which a token is used: its lifetime less one minute, or half of it if that is longer.
pub(super) fn usable_for(lifetime: Option<Duration>) -> Duration {
    match lifetime {
        Some(lifetime) => {
            let lifetime = lifetime.min(MAX_LIFETIME);
            lifetime.saturating_sub(RENEWAL_MARGIN).max(lifetime / 2)
        }
        None => DEFAULT_LIFETIME,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_replaced_a_minute_early_or_at_half_of_a_short_life() {
        for (lifetime, used) in [(3600, 3540), (121, 61), (120, 60), (119, 59), (60, 30), (10, 5), (0, 0)] {
            let used_for = usable_for(Some(Duration::from_secs(lifetime)));

            assert_eq!(used_for.as_secs(), used, "{lifetime}");
        }
        assert_eq!(usable_for(None), Duration::from_hours(1));
        assert_eq!(usable_for(Some(Duration::MAX)) + RENEWAL_MARGIN, MAX_LIFETIME);
    }

    #[test]
    fn a_token_that_cannot_stand_in_a_header_is_none() {
        for text in ["", "a b", "a\r\nX-Evil: 1", "a\0", "ü", &"a".repeat(MAX_TOKEN_BYTES + 1)] {
            assert!(Token::new(text.into(), Instant::now(), None).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_token_cannot_print() {
        let token = Token::new("canary".into(), Instant::now(), None).unwrap();

        assert!(!format!("{token:?} {:?}", token.header()).contains("canary"));
    }
}
