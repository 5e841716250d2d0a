//! Error texts and rules of a toolkit's per-user cache.

#[cfg(feature = "rules")]
use crate::Problems;

/// Maximum length of a key, in bytes of UTF-8; enough for most URLs.
#[cfg(feature = "rules")]
pub const MAX_KEY_BYTES: usize = 256;
/// Maximum length of a value, in bytes of UTF-8.
#[cfg(feature = "rules")]
pub const MAX_VALUE_BYTES: usize = 64 << 10;
/// Maximum total size of keys and values per toolkit and user, in bytes. Beyond it, the oldest values are
/// evicted.
#[cfg(feature = "rules")]
pub const MAX_TOTAL_BYTES: usize = 1 << 20;
/// Maximum number of values per toolkit and user. Beyond it, the oldest are evicted.
#[cfg(feature = "rules")]
pub const MAX_VALUES: usize = 1000;
/// Maximum and default lifetime of a value, in seconds: 30 days.
#[cfg(feature = "rules")]
pub const MAX_SECONDS: u32 = 30 * 24 * 60 * 60;

/// Returns the log text for a request that breaks a rule, a mistake of the toolkit's author; `reason` names
/// the rule.
pub fn refused(reason: &str) -> String {
    format!("the cache refused the request: {reason}")
}

/// Returns the error text for a cache that is temporarily unavailable. Retryable.
pub fn unavailable(reason: &str) -> String {
    format!("The toolkit's cache cannot be changed now: {reason}")
}

/// Returns the log text for a value that was not stored; the call continues.
pub fn not_kept(reason: &str) -> String {
    format!("the cache has not kept a value: {reason}")
}

/// Checks a key.
#[cfg(feature = "rules")]
pub fn check_key(key: &str) -> Result<(), Problems> {
    let mut problems = Problems::default();
    key_rules(key, &mut problems);
    if problems.0.is_empty() { Ok(()) } else { Err(problems) }
}

/// Checks a key, a value and its lifetime against every rule.
#[cfg(feature = "rules")]
pub fn check_value(key: &str, value: &str, seconds: Option<u32>) -> Result<(), Problems> {
    let mut problems = Problems::default();
    key_rules(key, &mut problems);
    if value.len() > MAX_VALUE_BYTES {
        problems.add("value", format!("is {} bytes long, and may be {MAX_VALUE_BYTES}", value.len()));
    }
    if let Some(seconds) = seconds
        && !(1..=MAX_SECONDS).contains(&seconds)
    {
        problems.add("seconds", format!("is {seconds}, and may be 1 to {MAX_SECONDS} (30 days)"));
    }
    if problems.0.is_empty() { Ok(()) } else { Err(problems) }
}

#[cfg(feature = "rules")]
fn key_rules(key: &str, problems: &mut Problems) {
    if key.is_empty() {
        problems.add("key", "is empty");
    }
    if key.len() > MAX_KEY_BYTES {
        let hash = "; make a hash of what is longer";
        problems.add("key", format!("is {} bytes long, and may be {MAX_KEY_BYTES}{hash}", key.len()));
    }
}

#[cfg(all(test, feature = "rules"))]
mod tests {
    use super::*;

    #[test]
    fn keys_values_and_times_have_bounds() {
        let found = |key: &str, value: &str, seconds| {
            check_value(key, value, seconds).err().map(|problems| problems.to_string())
        };
        let longest_key = "ä".repeat(MAX_KEY_BYTES / 2);
        let longest_value = "a".repeat(MAX_VALUE_BYTES);

        assert_eq!(found(&longest_key, &longest_value, Some(MAX_SECONDS)), None);
        assert_eq!(found("\0", "", Some(1)), None);
        assert_eq!(found("", "", None).as_deref(), Some("key: is empty"));
        for (key, value, seconds, expected) in [
            (longest_key.clone() + "a", "", None, "key: is 257 bytes long, and may be 256"),
            (
                "k".into(),
                &*(longest_value.clone() + "a"),
                None,
                "value: is 65537 bytes long, and may be 65536",
            ),
            ("k".into(), "", Some(0), "seconds: is 0, and may be 1 to 2592000 (30 days)"),
            ("k".into(), "", Some(MAX_SECONDS + 1), "seconds: is 2592001"),
        ] {
            let found = found(&key, value, seconds).expect("it breaks a rule");
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
