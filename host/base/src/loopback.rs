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

#[cfg(test)]
mod tests {
    use super::*;

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
