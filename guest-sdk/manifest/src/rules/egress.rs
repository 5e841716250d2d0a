//! Rules for `egress` (the hosts that a toolkit may reach) and `auth` (the OAuth grant of the host).

use std::collections::HashSet;

use url::{Host, Url};

use crate::egress::{allows, entry_for};
use crate::{OAuth2ClientCredentials, Problems, ToolkitDefinition};

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

pub(super) fn auth(auth: &OAuth2ClientCredentials, definition: &ToolkitDefinition, problems: &mut Problems) {
    match Url::parse(&auth.token_url) {
        Ok(url) if is_protected(&url) => {
            if !allows(&definition.egress, &url) {
                let host = entry_for(&url);
                problems.add("auth.tokenUrl", format!("its host must be listed in egress: add {host:?}"));
            }
        }
        Ok(_) => problems.add("auth.tokenUrl", "must be an https:// URL (http:// only on loopback)"),
        Err(error) => problems.add("auth.tokenUrl", format!("must be an https:// URL ({error})")),
    }
    for (path, name) in [
        ("auth.clientIdSecret", &auth.client_id_secret),
        ("auth.clientSecretSecret", &auth.client_secret_secret),
    ] {
        if !definition.secrets.contains(name) {
            problems.add(path, format!("{name:?} must be listed in secrets"));
        }
    }
    if let Err(message) = check_host(&auth.api_host) {
        problems.add("auth.apiHost", message);
    } else if !definition.egress.contains(&auth.api_host) {
        problems.add("auth.apiHost", format!("must be listed in egress: add {:?}", auth.api_host));
    }
}

/// Accepts a bare host name or IP literal with an optional port, in the normal form of a URL parser
/// (WHATWG URL, including IDNA): entries are compared literally.
fn check_host(entry: &str) -> Result<(), String> {
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

/// Returns whether a token may be sent to this URL: encrypted, or on the same machine only.
fn is_protected(url: &Url) -> bool {
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && loopback)
}
