//! Refresh tokens of a grant: each is derived from the one before it, and only the newest is replaced.
//!
//! Sessions of one client share a stored sign-in, and notice minutes later that another one has refreshed it.
//! Older tokens are answered with the newest for a while, also if there were several in between.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag_base::sha256::Sha256;
use secrecy::{ExposeSecret, SecretString};

use super::secret::random_text;
use super::store::GrantRow;

/// Maximum number of replaced tokens of a grant that are recognised.
pub(super) const MAX_REPLACED: usize = 16;

/// Meaning of a presented refresh token.
#[derive(Debug)]
pub(super) enum Presented {
    /// The newest token, and its successor.
    Newest(SecretString),
    /// Token that was replaced within the grace period, and the newest token.
    JustReplaced(SecretString),
    /// Token that was replaced before, while the newest has not been used: probably a session of the client
    /// that comes late.
    Late,
    /// Any other token, such as one whose successor was used: two parties have the grant (RFC 9700, section
    /// 4.14.2).
    Reused,
}

impl GrantRow {
    /// Classifies a refresh token that was presented at `now`, in milliseconds since 1970.
    pub(super) fn presented(&self, token: &str, grace: Duration, now: i64) -> Presented {
        let expired = now.saturating_sub(i64::try_from(grace.as_millis()).unwrap_or(i64::MAX));
        let replaced_at = self.replaced_at();
        let mut successor = SecretString::from(token);
        for generation in 0..=replaced_at.len() {
            let next = self.next_refresh_token(&successor);
            if self.refresh_digest == Sha256::digest(successor.expose_secret()) {
                return match generation.checked_sub(1).map(|index| replaced_at[index]) {
                    None => Presented::Newest(next),
                    Some(replaced_at) if replaced_at > expired => Presented::JustReplaced(successor),
                    Some(_) if generation == 1 => Presented::Late,
                    Some(_) => Presented::Reused,
                };
            }
            successor = next;
        }
        Presented::Reused
    }

    /// Times of replacements as a JSON array, after one at `now`.
    pub(super) fn replaced_again(&self, now: i64) -> String {
        let mut replaced_at = self.replaced_at();
        replaced_at.insert(0, now);
        replaced_at.truncate(MAX_REPLACED);
        serde_json::to_string(&replaced_at).expect("numbers always serialise")
    }

    fn replaced_at(&self) -> Vec<i64> {
        serde_json::from_str(&self.replaced_at).unwrap_or_default()
    }

    /// Derives the successor of a refresh token. It is deterministic, so that clients that share a token get the
    /// same successor, and cannot be computed without the grant's seed, which only the database has.
    fn next_refresh_token(&self, token: &SecretString) -> SecretString {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.seed);
        let secret = URL_SAFE_NO_PAD.encode(hmac::sign(&key, token.expose_secret().as_bytes()));
        format!("{}.{secret}", self.id).into()
    }
}

/// Creates the first refresh token: the grant's id, a dot, and 256 random bits in base64url.
pub(super) fn first_refresh_token(grant_id: &str) -> SecretString {
    format!("{grant_id}.{}", random_text::<32>()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_mins(10);
    const MINUTE: i64 = 60_000;

    /// Grant whose refresh token is replaced at each of `times`, and all its tokens, the newest last.
    fn chain(times: &[i64]) -> (GrantRow, Vec<String>) {
        let first = first_refresh_token("grant");
        let mut grant = GrantRow {
            id: "grant".to_owned(),
            client_id: String::new(),
            user_id: String::new(),
            scopes: String::new(),
            refresh_digest: Sha256::digest(first.expose_secret()).to_vec(),
            seed: b"seed".to_vec(),
            replaced_at: "[]".to_owned(),
        };
        let mut tokens = vec![first.expose_secret().to_owned()];
        for time in times {
            let newest = tokens.last().expect("a token");
            let Presented::Newest(next) = grant.presented(newest, GRACE, *time) else { panic!("it is") };
            grant.replaced_at = grant.replaced_again(*time);
            grant.refresh_digest = Sha256::digest(next.expose_secret()).to_vec();
            tokens.push(next.expose_secret().to_owned());
        }
        (grant, tokens)
    }

    fn label(presented: &Presented, newest: &str) -> &'static str {
        match presented {
            Presented::Newest(_) => "newest",
            Presented::JustReplaced(token) if token.expose_secret() == newest => "gets the newest",
            Presented::JustReplaced(_) => "gets another",
            Presented::Late => "late",
            Presented::Reused => "reused",
        }
    }

    #[test]
    fn a_replaced_token_gets_the_newest_for_minutes_and_generations_and_ends_no_grant_until_that_is_used() {
        let hour = 60 * MINUTE;
        for (times, now, expected) in [
            // Each token in order of age, the newest last.
            (&[][..], hour, &["newest"][..]),
            (&[hour], hour + 9 * MINUTE, &["gets the newest", "newest"]),
            (&[hour], hour + 10 * MINUTE, &["late", "newest"]),
            (&[hour], 100 * hour, &["late", "newest"]),
            // Replaced twice within the period.
            (
                &[hour, hour + 5 * MINUTE],
                hour + 9 * MINUTE,
                &["gets the newest", "gets the newest", "newest"],
            ),
            // What followed the first one was used, and its period is over.
            (&[hour, hour + 5 * MINUTE], hour + 11 * MINUTE, &["reused", "gets the newest", "newest"]),
            (&[hour, 2 * hour], 2 * hour, &["reused", "gets the newest", "newest"]),
            (&[hour, 2 * hour], 3 * hour, &["reused", "late", "newest"]),
            // The clock was set back.
            (&[hour], 0, &["gets the newest", "newest"]),
        ] {
            let (grant, tokens) = chain(times);
            let newest = tokens.last().expect("a token");

            let found: Vec<_> =
                tokens.iter().map(|token| label(&grant.presented(token, GRACE, now), newest)).collect();

            assert_eq!(found, expected, "{times:?} at {now}");
        }
    }

    #[test]
    fn no_grace_is_none() {
        let (grant, tokens) = chain(&[MINUTE, 2 * MINUTE]);

        for (token, expected) in tokens.iter().zip(["reused", "late", "newest"]) {
            assert_eq!(label(&grant.presented(token, Duration::ZERO, 2 * MINUTE), &tokens[2]), expected);
        }
    }

    #[test]
    fn tokens_beyond_the_maximum_and_those_that_never_were_are_reused() {
        let times: Vec<_> = (1..=20).collect();
        let (grant, tokens) = chain(&times);

        let found: Vec<_> =
            tokens.iter().map(|token| label(&grant.presented(token, GRACE, 20), &tokens[20])).collect();

        assert_eq!(found[..4], ["reused"; 4]);
        assert_eq!(found[4..20], ["gets the newest"; MAX_REPLACED]);
        for guess in ["", "grant.", "grant.guess", "guess.guess"] {
            assert_eq!(label(&grant.presented(guess, GRACE, 20), &tokens[20]), "reused", "{guess}");
        }
    }
}
