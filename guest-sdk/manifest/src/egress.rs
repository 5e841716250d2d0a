//! Checks URLs against a declaration's `egress`.

use url::Url;

/// Returns whether `egress` lists the URL's host. A bare host grants the scheme's default port only,
/// `host:port` that port only.
pub fn allows(egress: &[String], url: &Url) -> bool {
    let lists = |entry: &str| egress.iter().any(|listed| listed == entry);
    let host = host(url);
    !host.is_empty()
        && (lists(&entry_for(url))
            || url.port_or_known_default().is_some_and(|port| lists(&format!("{host}:{port}"))))
}

/// Returns the entry that would grant the URL.
pub fn entry_for(url: &Url) -> String {
    let host = host(url);
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns the host without a trailing dot: a fully qualified name with the dot is the same name.
fn host(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &str, url: &str) -> bool {
        allows(&[entry.to_owned()], &Url::parse(url).expect("a URL"))
    }

    #[test]
    fn a_bare_host_grants_the_default_port_alone() {
        assert!(check("api.example", "https://api.example/x"));
        assert!(check("api.example", "http://API.example.:80/x"));
        assert!(!check("api.example", "https://api.example:8443/x"));
    }

    #[test]
    fn a_port_grants_itself_alone() {
        assert!(check("api.example:8443", "https://api.example:8443/x"));
        assert!(check("api.example:443", "https://api.example/x"));
        assert!(!check("api.example:443", "http://api.example/x"));
        assert!(!check("api.example:8443", "https://api.example/x"));
    }

    #[test]
    fn nothing_near_a_listed_host_is_granted() {
        for url in [
            "https://evil.example/",
            "https://sub.api.example/",
            "https://api.example.evil.example/",
            "https://api.example@evil.example/",
            "https://evil.example/?https://api.example",
        ] {
            assert!(!check("api.example", url), "{url}");
        }
        assert!(!allows(&[], &Url::parse("https://api.example/").expect("a URL")));
        assert!(!allows(&[String::new()], &Url::parse("data:text/plain,x").expect("a URL")));
    }
}
