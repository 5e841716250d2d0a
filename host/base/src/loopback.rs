//! Checks whether URLs and hosts are on this machine.

use url::{Host, Url};

/// Whether the URL's host is this machine: `localhost`, or an address of the loopback interface.
pub fn is_loopback(url: &Url) -> bool {
    url.host().is_some_and(|host| is_loopback_host(&host))
}

/// Whether the host is this machine; same rule as [`is_loopback`].
pub fn is_loopback_host<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => name.as_ref() == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

/// Returns the URL, and if it is `http` on this machine, the same with each other usual name of it: clients
/// write `localhost` for `127.0.0.1`, and the other way round.
pub fn loopback_names(url: &Url) -> Vec<Url> {
    let mut all = vec![url.clone()];
    if url.scheme() == "http" && is_loopback(url) {
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            let mut named = url.clone();
            if named.set_host(Some(name)).is_ok() && named != *url {
                all.push(named);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_loopback_has_three_names_and_another_one() {
        let names = |url: &str| {
            loopback_names(&url.parse().expect("a URL")).iter().map(Url::to_string).collect::<Vec<_>>()
        };

        assert_eq!(
            names("http://127.0.0.1:8787/a"),
            ["http://127.0.0.1:8787/a", "http://localhost:8787/a", "http://[::1]:8787/a"]
        );
        assert_eq!(
            names("http://localhost:1"),
            ["http://localhost:1/", "http://127.0.0.1:1/", "http://[::1]:1/"]
        );
        for other in ["https://localhost:1/", "https://kb.example/", "http://10.0.0.1:1/"] {
            assert_eq!(names(other), [other]);
        }
    }

    #[test]
    fn only_this_machine_is_loopback_however_it_is_spelled() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("https://LOCALHOST/", true),
            ("http://127.0.0.1/", true),
            ("http://127.1:8/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]/", true),
            ("http://localhost.evil.example/", false),
            ("http://127.0.0.1.evil.example/", false),
            ("http://0.0.0.0/", false),
            ("http://[::ffff:127.0.0.1]/", false),
            ("http://10.0.0.1/", false),
            ("data:localhost", false),
        ] {
            assert_eq!(is_loopback(&url.parse().expect("a URL")), expected, "{url}");
        }
    }
}
