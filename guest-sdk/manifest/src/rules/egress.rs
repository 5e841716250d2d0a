//! Rules for `egress`: the hosts that a toolkit may reach.

use std::collections::HashSet;

use url::Host;

use crate::Problems;

pub(super) fn hosts(entries: &[String], problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        let path = format!("egress[{index}]");
        if let Err(message) = check_host(entry) {
            problems.add(&path, message);
        }
        if !seen.insert(entry) {
            problems.add(&path, format!("{entry:?} is listed twice"));
        }
    }
}

/// Accepts a bare host name or IP literal with an optional port, in the normal form of a URL parser
/// (WHATWG URL, including IDNA): entries are compared literally.
pub(super) fn check_host(entry: &str) -> Result<(), String> {
    const EXPECTED: &str =
        "must be a bare host name with an optional :port, such as api.example.com or api.example.com:8443";

    if entry.contains('*') {
        return Err(format!("{entry:?} has a wildcard; {EXPECTED}"));
    }
    if entry.is_empty()
        || entry.contains(['/', '\\', '@', '?', '#', '%'])
        || entry.chars().any(char::is_whitespace)
    {
        return Err(format!("{entry:?} {EXPECTED}"));
    }
    let (host, port) = split_port(entry).ok_or_else(|| format!("{entry:?} {EXPECTED}"))?;
    if port == Some(0) {
        return Err(format!("{entry:?} has port 0; {EXPECTED}"));
    }
    let parsed = Host::parse(host).map_err(|error| format!("{entry:?} is no host ({error}); {EXPECTED}"))?;
    let normalized = parsed.to_string();
    if host.ends_with('.') || normalized != host {
        let suggestion = normalized.trim_end_matches('.');
        return Err(format!("{entry:?} must be written {suggestion:?}"));
    }
    Ok(())
}

/// Splits `host[:port]`; `None` if the port is not a number.
fn split_port(entry: &str) -> Option<(&str, Option<u16>)> {
    let after_host =
        if entry.starts_with('[') { entry.find(']')? + 1 } else { entry.find(':').unwrap_or(entry.len()) };
    let (host, rest) = entry.split_at(after_host);
    match rest.strip_prefix(':') {
        None => rest.is_empty().then_some((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().map(|port| (host, Some(port)))
        }
        Some(_) => None,
    }
}
