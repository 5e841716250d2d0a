//! Checks URLs against a declaration's `egress`, and against the hosts of its `auth`.

#[cfg(feature = "url")]
use url::{Host, Url};

/// Connection-level headers, which neither a handler nor a declaration may set: the host refuses or removes
/// them.
pub const CONNECTION_HEADERS: [&str; 13] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Target of a request: host and port, in the form of an `egress` entry.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Host, without the trailing dot of the DNS root, which does not change a name's meaning.
    host: &'a str,
    /// Port; `None` for the scheme's default port.
    port: Option<u16>,
    default_port: Option<u16>,
}

impl<'a> Target<'a> {
    /// Creates a target from a URL's parts. `host` must be in lower case, with an IPv6 address in brackets;
    /// `port` is `None` if the URL has none.
    pub fn new(scheme: &str, host: &'a str, port: Option<u16>) -> Self {
        let default_port = match scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        let host = host.strip_suffix('.').unwrap_or(host);
        Self { host, port: port.filter(|_| port != default_port), default_port }
    }

    /// Returns whether `egress` lists the target. A bare host grants the scheme's default port only,
    /// `host:port` that port only.
    pub fn is_listed<S: AsRef<str>>(&self, egress: &[S]) -> bool {
        let lists = |entry: &str| egress.iter().any(|listed| listed.as_ref() == entry);
        let port = self.port.or(self.default_port);
        !self.host.is_empty()
            && (lists(&self.entry()) || port.is_some_and(|port| lists(&format!("{}:{port}", self.host))))
    }

    /// Returns the `egress` entry that would grant the target.
    pub fn entry(&self) -> String {
        self.port.map_or_else(|| self.host.to_owned(), |port| format!("{}:{port}", self.host))
    }
}

#[cfg(feature = "url")]
impl<'a> From<&'a Url> for Target<'a> {
    fn from(url: &'a Url) -> Self {
        Self::new(url.scheme(), url.host_str().unwrap_or_default(), url.port())
    }
}

/// Returns whether `egress` lists the URL's host.
#[cfg(feature = "url")]
pub fn allows<S: AsRef<str>>(egress: &[S], url: &Url) -> bool {
    Target::from(url).is_listed(egress)
}

/// Returns the `egress` entry that would grant the URL.
#[cfg(feature = "url")]
pub fn entry_for(url: &Url) -> String {
    Target::from(url).entry()
}

/// Returns whether a URL belongs to the `apiHost` of a sign-in, so that credentials may be sent to it.
///
/// A bare host means `https` on port 443, and a host with a port `https` on that port. Plain `http` is
/// accepted only for a loopback host with a port.
#[cfg(feature = "url")]
pub fn is_api_host(api_host: &str, url: &Url) -> bool {
    let target = Target::from(url);
    let is_bare = target.port.is_none() && api_host == target.host;
    let port = target.port.or(target.default_port);
    let has_port = port.is_some_and(|port| api_host == format!("{}:{port}", target.host));
    !target.host.is_empty() && is_protected(url) && (has_port || (is_bare && url.scheme() == "https"))
}

/// Returns whether a URL contains a user name or a password.
#[cfg(feature = "rules")]
pub(crate) fn has_user_information(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns whether a request to the URL is encrypted or stays on the machine: `https`, or `http` on loopback.
#[cfg(feature = "url")]
pub(crate) fn is_protected(url: &Url) -> bool {
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && loopback)
}

/// Returns the error text for a request to a host that `egress` does not list. `entry` is the entry to add.
pub fn not_listed(entry: &str) -> String {
    format!("{entry} is not listed in egress: add {entry:?} to the toolkit's egress")
}

#[cfg(all(test, feature = "url"))]
mod tests {
    use proptest::prelude::*;

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
        assert!(!allows::<&str>(&[], &Url::parse("https://api.example/").expect("a URL")));
        assert!(!allows(&[String::new()], &Url::parse("data:text/plain,x").expect("a URL")));
    }

    #[test]
    fn a_target_needs_no_parsed_url() {
        let egress = ["api.example", "api.example:8443", "[::1]:80"];
        for (scheme, host, port, expected) in [
            ("https", "api.example", None, "api.example"),
            ("https", "api.example.", Some(443), "api.example"),
            ("https", "api.example", Some(8443), "api.example:8443"),
            ("http", "[::1]", None, "[::1]"),
        ] {
            let target = Target::new(scheme, host, port);
            assert!(target.is_listed(&egress), "{target:?}");
            assert_eq!(target.entry(), expected);
        }
        for (scheme, host, port) in
            [("https", "api.example", Some(80)), ("https", "evil.example", None), ("https", "[::1]", None)]
        {
            assert!(!Target::new(scheme, host, port).is_listed(&egress), "{scheme} {host} {port:?}");
        }
    }

    #[test]
    fn credentials_go_to_their_host_alone_and_encrypted_unless_it_is_this_machine() {
        for (api_host, url, expected) in [
            ("api.example", "https://api.example/x", true),
            ("api.example", "https://API.example.:443/x", true),
            ("api.example:443", "https://api.example/x", true),
            ("api.example:8443", "https://api.example:8443/x", true),
            ("api.example", "http://api.example/x", false),
            ("api.example:80", "http://api.example/x", false),
            ("api.example", "https://api.example:8443/x", false),
            ("api.example:8443", "https://api.example/x", false),
            ("api.example", "https://sub.api.example/x", false),
            ("api.example", "https://api.example@evil.example/x", false),
            ("localhost:8080", "http://localhost:8080/x", true),
            ("127.0.0.1:80", "http://127.0.0.1/x", true),
            ("[::1]:8080", "http://[::1]:8080/x", true),
            ("localhost", "http://localhost/x", false),
            ("localhost", "https://localhost/x", true),
            ("", "data:text/plain,x", false),
        ] {
            let url = Url::parse(url).expect("a URL");
            assert_eq!(is_api_host(api_host, &url), expected, "{api_host} {url}");
        }
    }

    #[test]
    fn the_refusal_names_the_entry_to_add() {
        assert_eq!(
            not_listed("evil.example:81"),
            r#"evil.example:81 is not listed in egress: add "evil.example:81" to the toolkit's egress"#
        );
    }

    fn url() -> impl Strategy<Value = Url> {
        let host = prop_oneof![
            "[a-z]{1,3}(\\.[a-z]{1,3}){1,2}\\.?".boxed(),
            "1\\.2\\.3\\.[1-9]".boxed(),
            Just("[2001:db8::1]".to_owned()).boxed(),
        ];
        let scheme = prop_oneof![Just("http"), Just("https")];
        let port = prop_oneof![Just(None), Just(Some(80)), Just(Some(443)), (1_u16..9000).prop_map(Some)];
        (scheme, host, port, "[a-z./@%-]{0,6}").prop_filter_map("a URL", |(scheme, host, port, path)| {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            Url::parse(&format!("{scheme}://{host}{port}/{path}")).ok()
        })
    }

    proptest! {
        #[test]
        fn an_entry_grants_its_own_host_and_port_and_nothing_else(granted in url(), other in url()) {
            let egress = [entry_for(&granted)];
            let host = |url: &Url| url.host_str().map(|host| host.trim_end_matches('.').to_owned());
            let port = Url::port_or_known_default;

            prop_assert!(allows(&egress, &granted));
            // A bare host is an entry for the default port of each scheme.
            let is_same_port = match granted.port() {
                None => other.port().is_none(),
                granted => granted == port(&other),
            };
            prop_assert_eq!(allows(&egress, &other), host(&granted) == host(&other) && is_same_port);
        }
    }
}
