//! The cache.

use crate::cache::{MAX_SECONDS, MAX_VALUE_BYTES, MAX_VALUES};
use crate::test_host::cache::Cached;

const NOW: i64 = 1_000_000;

#[test]
fn a_value_is_found_until_its_lifetime_ends() {
    let mut cached = Cached::default();
    cached.set("short", "a", Some(60), NOW).expect("it is valid");
    cached.set("long", "b", None, NOW).expect("it is valid");
    let found = |key: &str, now: i64| cached.get(key, now).expect("it is a key").map(str::to_owned);

    assert_eq!(found("short", NOW + 59_999).as_deref(), Some("a"));
    assert_eq!(found("short", NOW + 60_000), None);
    let longest = i64::from(MAX_SECONDS) * 1000;
    assert_eq!(found("long", NOW + longest - 1).as_deref(), Some("b"));
    assert_eq!(found("long", NOW + longest), None);
}

#[test]
fn the_oldest_and_the_expired_make_room() {
    let large = "v".repeat(MAX_VALUE_BYTES - 2);
    let mut cached = Cached::default();
    for key in 10..27 {
        cached.set(&key.to_string(), &large, None, NOW).expect("it is valid");
    }
    assert!(cached.peek("10", NOW).is_none() && cached.peek("11", NOW).is_some());

    let mut cached = Cached::default();
    for key in 0..=MAX_VALUES {
        cached.set(&key.to_string(), "v", Some(if key == 1 { 1 } else { 60 }), NOW).expect("it is valid");
    }
    assert!(cached.peek("0", NOW).is_none() && cached.peek("1", NOW).is_some());
    cached.set("1000", "v", None, NOW + 1000).expect("it is valid");
    assert!(cached.peek("1", NOW).is_none(), "it has expired, and is removed");
}

#[test]
fn a_value_that_is_written_again_is_the_newest_and_a_removed_one_is_gone() {
    let mut cached = Cached::default();
    for key in (0..MAX_VALUES).chain([0, MAX_VALUES]) {
        cached.set(&key.to_string(), "v", None, NOW).expect("it is valid");
    }
    assert!(cached.peek("0", NOW).is_some() && cached.peek("1", NOW).is_none());

    cached.remove("0").expect("it is a key");
    assert!(cached.peek("0", NOW).is_none());
    assert!(
        cached.remove("").is_err() && cached.get("", NOW).is_err() && cached.set("", "", None, NOW).is_err()
    );
}
