//! Notifications between processes: what is heard was sent, and by another process.

use kitbag::fuzzing::peers::hints as heard;

const ME: &str = "0123456789abcdef";

/// Input: the payload of a notification.
///
/// Checks that a process hears nothing of itself, that each hint is a word of the payload, and that it is read again as
/// the same.
pub fn hints(data: &[u8]) {
    let Ok(payload) = std::str::from_utf8(data) else { return };
    let mut words = payload.split_ascii_whitespace();
    let sender = words.next();
    let words: Vec<_> = words.map(str::to_ascii_lowercase).collect();

    let hints = heard(payload, ME);

    assert!(hints.len() <= words.len());
    assert!(hints.is_empty() || sender.is_some_and(|sender| sender != ME), "{payload:?} comes from here");
    for hint in hints {
        assert!(words.contains(&hint.to_ascii_lowercase()), "{hint:?} is not in {payload:?}");
        assert_eq!(heard(&format!("other {hint}"), ME), [hint.as_str()]);
        assert!(heard(&format!("{ME} {hint}"), ME).is_empty());
    }
}
