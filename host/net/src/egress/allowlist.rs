//! Declared hosts of a toolkit: the hosts it may reach, and the host that receives its token.

use std::collections::HashSet;
use std::fmt;

use http::Uri;
use url::Host;

use super::target::Target;

/// The parsed `egress` list of one toolkit. An empty list allows nothing.
#[derive(Clone, Debug, Default)]
pub struct Allowlist {
    entries: HashSet<AllowlistEntry>,
}

/// The one host that receives a toolkit's token.
///
/// A bare host means `https` on port 443, and a host with a port means `https` on that port. The
/// token is sent over plain `http` only where it stays on the machine: to a loopback address, or
/// `localhost`, with a port.
#[derive(Clone, Debug)]
pub struct ApiHost(AllowlistEntry);

/// The part of an entry's requests that lists allow together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// All of them.
    Whole,
    /// Those of one default port alone.
    Part,
    /// None of them.
    Nothing,
}

/// An `egress` entry that is not a valid host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} is not a bare host name with an optional :port")]
pub struct InvalidEntry {
    /// The entry as declared.
    pub entry: String,
}

impl Allowlist {
    /// Parses declared entries: `host` (the scheme's default port) or `host:port` (that port only).
    ///
    /// Names are compared after IDNA and lower-casing. An IP address must be in its canonical form,
    /// so that a reviewer of the list recognises it. There are no wildcards.
    pub fn parse<I>(declared: I) -> Result<Self, InvalidEntry>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let entries = declared.into_iter().map(|line| {
            let line = line.as_ref();
            AllowlistEntry::parse(line).ok_or_else(|| InvalidEntry { entry: line.to_owned() })
        });
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }

    /// Whether a request to `uri` is allowed; `false` for a URI that could not be sent.
    pub fn allows(&self, uri: &Uri) -> bool {
        Target::of(uri).is_ok_and(|target| self.permits(&target))
    }

    /// Whether the list allows every request that the entry `declared` would allow; `false` for an invalid
    /// entry.
    pub fn covers(&self, declared: &str) -> bool {
        let Some(entry) = AllowlistEntry::parse(declared) else { return false };
        if self.entries.contains(&entry) {
            return true;
        }
        let has =
            |port| self.entries.contains(&AllowlistEntry { host: entry.host.clone(), port: Some(port) });
        // A bare host means the default ports of both schemes.
        entry.port.is_none() && has(80) && has(443)
    }

    pub(super) fn permits(&self, target: &Target) -> bool {
        let host = target.host().clone();
        let exact = AllowlistEntry { host: host.clone(), port: Some(target.port()) };
        self.entries.contains(&exact)
            || (target.has_default_port() && self.entries.contains(&AllowlistEntry { host, port: None }))
    }
}

impl Coverage {
    /// Compares what the entry `declared` would allow with what `lists` allow together. A port that is the default
    /// of one scheme counts for that scheme alone: nothing else is spoken there.
    pub(super) fn of<'a>(declared: &str, lists: &(impl Iterator<Item = &'a Allowlist> + Clone)) -> Self {
        let Some(AllowlistEntry { host, port }) = AllowlistEntry::parse(declared) else {
            return Self::Nothing;
        };
        let is_listed = |port| {
            let entry = AllowlistEntry { host: host.clone(), port };
            lists.clone().any(|list| list.entries.contains(&entry))
        };
        let has_default = |port| is_listed(Some(port)) || is_listed(None);
        match port {
            None => match (has_default(80), has_default(443)) {
                (true, true) => Self::Whole,
                (false, false) => Self::Nothing,
                (true, false) | (false, true) => Self::Part,
            },
            Some(port @ (80 | 443)) if has_default(port) => Self::Whole,
            Some(port) if is_listed(Some(port)) => Self::Whole,
            Some(_) => Self::Nothing,
        }
    }
}

impl ApiHost {
    /// Parses `host` or `host:port`, as [`Allowlist::parse`] parses its entries.
    pub fn parse(declared: &str) -> Result<Self, InvalidEntry> {
        AllowlistEntry::parse(declared).map(Self).ok_or_else(|| InvalidEntry { entry: declared.to_owned() })
    }

    /// Whether a request to `uri` may carry the token.
    pub fn is(&self, uri: &Uri) -> bool {
        let Self(AllowlistEntry { host, port }) = self;
        Target::of(uri).is_ok_and(|target| {
            let expected = match port {
                Some(port) => target.port() == *port && (target.is_https() || target.is_loopback()),
                None => target.is_https() && target.has_default_port(),
            };
            expected && target.host() == host
        })
    }
}

/// Returns the canonical spelling of a declared host (IDNA, lower case, no trailing dot), with its port if
/// declared. `None`: not a valid host.
pub fn canonical_host(declared: &str) -> Option<String> {
    AllowlistEntry::parse(declared).map(|entry| entry.to_string())
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AllowlistEntry {
    host: Host,
    /// `None` for the scheme's default port.
    port: Option<u16>,
}

impl AllowlistEntry {
    fn parse(line: &str) -> Option<Self> {
        // The host parser decodes `%`, so an entry could allow a host other than the one it shows.
        if line.contains(['/', '\\', '@', '?', '#', '%', '*']) || line.contains(char::is_whitespace) {
            return None;
        }
        let (host, port) = split_port(line)?;
        let parsed = Host::parse(host).ok()?;
        match parsed {
            Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                let complete = !name.is_empty() && !name.split('.').any(str::is_empty);
                complete.then(|| Self { host: Host::Domain(name.to_owned()), port })
            }
            address => (address.to_string() == host).then_some(Self { host: address, port }),
        }
    }
}

impl fmt::Display for AllowlistEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(out, "{}:{port}", self.host),
            None => write!(out, "{}", self.host),
        }
    }
}

/// Splits `host[:port]`, with an IPv6 host in brackets. `None` for an invalid port.
fn split_port(line: &str) -> Option<(&str, Option<u16>)> {
    let end_of_host = match line.strip_prefix('[') {
        Some(_) => line.find(']')? + 1,
        None => line.find(':').unwrap_or(line.len()),
    };
    let (host, rest) = line.split_at(end_of_host);
    match rest.strip_prefix(':') {
        None => rest.is_empty().then_some((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port != 0).map(|port| (host, Some(port)))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowlist() -> Allowlist {
        Allowlist::parse([
            "api.example.com",
            "db.example.com:8443",
            "Bücher.example",
            "localhost",
            "192.0.2.7",
            "[2001:db8::7]:8080",
        ])
        .unwrap()
    }

    #[track_caller]
    fn check(uri: &str, expected: bool) {
        // A string that is not a URI cannot be sent either.
        let allowed = uri.parse::<Uri>().is_ok_and(|uri| allowlist().allows(&uri));
        assert_eq!(allowed, expected, "{uri}");
    }

    #[test]
    fn declared_hosts_are_allowed_in_every_spelling_of_the_same_name() {
        for uri in [
            "https://api.example.com/v1?q=1",
            "http://api.example.com/",
            "https://api.example.com:443/",
            "http://api.example.com:80/",
            "https://API.Example.COM/",
            "https://api.example.com./",
            "https://db.example.com:8443/",
            "http://db.example.com:8443/",
            "https://xn--bcher-kva.example/",
            "https://XN--BCHER-KVA.example/",
            "http://localhost/",
            "http://192.0.2.7/",
            "http://[2001:db8::7]:8080/",
            "http://[2001:0DB8:0:0::7]:8080/",
        ] {
            check(uri, true);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for uri in [
            // Other hosts, and hosts that look similar.
            "https://example.com/",
            "https://evil.api.example.com/",
            "https://api.example.com.evil.example/",
            "https://apiXexample.com/",
            "https://evilapi.example.com/",
            "https://api.example.com../",
            "https://.api.example.com/",
            "https://api..example.com/",
            "https://xn--pi-7kc.example.com/",
            "https://api.exa%6Dple.com/",
            // Ports: a bare host allows the scheme's default port only, and a listed port that port only.
            "https://api.example.com:80/",
            "http://api.example.com:443/",
            "https://api.example.com:8443/",
            "https://api.example.com:0/",
            "https://api.example.com:65979/",
            "https://api.example.com:x/",
            "https://db.example.com/",
            "https://db.example.com:443/",
            "http://localhost:8787/",
            // User information that makes a listed host look like the target, or the reverse.
            "https://api.example.com@evil.example/",
            "https://user:pass@api.example.com/",
            "https://@api.example.com/",
            "https://api.example.com:443@evil.example/",
            "https://evil.example\\@api.example.com/",
            "https://evil.example/@api.example.com/",
            "https://evil.example#@api.example.com/",
            "https://evil.example%2F@api.example.com/",
            "https://evil.example%00.api.example.com/",
            // Addresses that are not listed; listing the name `localhost` lists no address.
            "http://127.0.0.1/",
            "http://127.1/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://017700000001/",
            "http://127.0.0.1./",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:192.0.2.7]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://192.0.2.7:8080/",
            "http://[2001:db8::7]/",
            // Other schemes, and strings that are not absolute URIs.
            "ftp://api.example.com/",
            "wss://api.example.com/",
            "file:///etc/passwd",
            "//api.example.com/",
            "/v1",
            "api.example.com:443",
        ] {
            check(uri, false);
        }
    }

    #[test]
    fn a_listed_address_is_matched_by_value() {
        check("http://0xC0.0.2.7/", true);
        check("http://192.0.519/", true);
        check("http://192.0.2.8/", false);
    }

    #[track_caller]
    fn check_api_host(declared: &str, uri: &str, expected: bool) {
        let is = uri.parse::<Uri>().is_ok_and(|uri| ApiHost::parse(declared).unwrap().is(&uri));
        assert_eq!(is, expected, "{declared} for {uri}");
    }

    #[test]
    fn a_bare_api_host_is_that_host_over_tls_alone() {
        for uri in ["https://api.example.com/", "https://API.example.com.:443/v1"] {
            check_api_host("api.example.com", uri, true);
        }
        for uri in [
            "http://api.example.com/",
            "http://api.example.com:443/",
            "https://api.example.com:8443/",
            "https://example.com/",
            "https://sub.api.example.com/",
            "https://api.example.com.evil.example/",
            "https://api.example.com@evil.example/",
            "https://user@api.example.com/",
        ] {
            check_api_host("api.example.com", uri, false);
        }
    }

    #[test]
    fn an_api_host_with_a_port_is_that_port_alone() {
        check_api_host("127.0.0.1:8080", "http://127.1:8080/", true);
        check_api_host("api.example.com:8443", "https://api.example.com:8443/", true);
        check_api_host("127.0.0.1:8080", "http://localhost:8080/", false);
        check_api_host("127.0.0.1:8080", "http://127.0.0.1/", false);
        check_api_host("api.example.com:8443", "https://api.example.com/", false);
        assert!(ApiHost::parse("https://api.example.com").is_err());
    }

    #[test]
    fn a_token_travels_in_the_clear_within_the_machine_alone() {
        for host in ["127.0.0.1:8080", "127.9.9.9:8080", "[::1]:8080", "localhost:8080"] {
            check_api_host(host, &format!("http://{host}/"), true);
            check_api_host(host, &format!("https://{host}/"), true);
        }
        for host in ["api.example.com:8080", "api.localhost:8080", "10.0.0.1:8080", "[::ffff:7f00:1]:8080"] {
            check_api_host(host, &format!("http://{host}/"), false);
            check_api_host(host, &format!("https://{host}/"), true);
        }
        check_api_host("api.example.com:80", "http://api.example.com/", false);
    }

    #[test]
    fn an_empty_list_allows_nothing() {
        let uri = Uri::from_static("https://api.example.com/");

        assert!(!Allowlist::default().allows(&uri));
    }

    #[test]
    fn a_line_is_covered_by_what_allows_all_that_it_would_allow() {
        let both = Allowlist::parse(["both.example:80", "both.example:443"]).unwrap();

        assert!(both.covers("both.example") && !Allowlist::default().covers("both.example"));
        for line in [
            "API.Example.com.",
            "bücher.EXAMPLE",
            "xn--bcher-kva.example",
            "db.example.com:8443",
            "[2001:db8::7]:8080",
        ] {
            assert!(allowlist().covers(line), "{line}");
        }
        for line in [
            "example.com",
            "sub.api.example.com",
            "api.example.com.evil.example",
            "apl.example.com",
            // The first letter is Cyrillic.
            "аpi.example.com",
            "api.example.com:8443",
            "api.example.com:443",
            "db.example.com",
            "db.example.com:443",
            "*.example.com",
            "https://api.example.com",
            "127.0.0.1",
            "",
        ] {
            assert!(!allowlist().covers(line), "{line}");
        }
    }

    #[test]
    fn one_host_has_one_canonical_spelling() {
        assert_eq!(canonical_host("API.Example.com.:8443").as_deref(), Some("api.example.com:8443"));
        assert_eq!(canonical_host("Bücher.example").as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(canonical_host("[2001:db8::7]:80").as_deref(), Some("[2001:db8::7]:80"));
        assert_eq!(canonical_host("*.example.com"), None);
    }

    #[test]
    fn lines_that_name_no_host_are_refused() {
        for line in [
            "",
            ".",
            "..",
            "*",
            "*.example.com",
            "https://example.com",
            "example.com/path",
            "user@example.com",
            "example.com:",
            "example.com:0",
            "example.com:65536",
            "example.com:+80",
            "example.com:80:80",
            "exam ple.com",
            "ex%61mple.com",
            "a..example.com",
            "::1",
            "[::1",
            "[::1]x",
            "127.1",
            "0x7f.0.0.1",
            "2130706433",
            "[0:0::1]",
        ] {
            let parsed = Allowlist::parse([line]);

            assert!(parsed.is_err(), "{line:?} was accepted");
        }
    }
}
