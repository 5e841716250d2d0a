//! Redirect URIs of clients: validation and matching.
//!
//! Invariant: a redirect URI has the normal form of a browser's URL parser. So the browser follows the URI
//! that was checked: backslashes, tabs, user names, encoded hosts and unusual spellings of addresses cannot
//! be parsed in two ways.

use kitbag_base::loopback::is_loopback;
use url::Url;
use url::form_urlencoded::Serializer;

use super::oauth_error::{ErrorCode, OAuthError};

/// A valid redirect URI for authorization responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUri {
    /// Text as the client sent it: with or without the slash of an empty path.
    text: String,
    url: Url,
}

/// Recipient behind a redirect URI, shown on the consent page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Web site; host, and port if it is not 443.
    Site(String),
    /// Program that listens on this machine; host, and port if the URI has one.
    Loopback(String),
    /// Program that the operating system opens for this URI scheme.
    Application(String),
}

/// Maximum length of a redirect URI, in bytes.
const MAX_URI_BYTES: usize = 2048;

/// Schemes that browsers handle themselves, so they cannot belong to an application.
const NOT_AN_APPLICATION: [&str; 13] = [
    "about",
    "blob",
    "data",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "jar",
    "javascript",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];

impl RedirectUri {
    /// Parses a redirect URI: https, http on a loopback host, or an application's scheme (RFC 8252, section
    /// 7).
    pub(super) fn parse(text: &str) -> Result<Self, OAuthError> {
        let refused = |description| Err(ErrorCode::InvalidRedirectUri.because(description));
        if text.len() > MAX_URI_BYTES {
            return refused("a redirect URI has at most 2048 bytes");
        }
        let Ok(url) = Url::parse(text) else { return refused("a redirect URI must be an absolute URL") };
        if url.fragment().is_some() {
            return refused("a redirect URI has no fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("a redirect URI has no user name");
        }
        if url.as_str() != text && url.as_str().strip_suffix('/') != Some(text) {
            return refused("a redirect URI must be in normal form, as a browser shows it");
        }
        match url.scheme() {
            "https" => {}
            "http" if is_native_client(&url) => {}
            "http" => return refused("http is for localhost and loopback addresses only; use https"),
            scheme if NOT_AN_APPLICATION.contains(&scheme) => {
                return refused("this scheme does not belong to an application");
            }
            _ => {}
        }
        Ok(Self { text: text.to_owned(), url })
    }

    /// Whether the registered URI `self` permits `requested`: they must be equal, except for the port on a
    /// loopback host, which a native client chooses at run time (RFC 8252, section 7.3).
    pub(super) fn admits(&self, requested: &Self) -> bool {
        self.text == requested.text
            || (is_native_client(&self.url) && without_port(&self.url) == without_port(&requested.url))
    }

    /// Returns the URI as the client sent it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether responses go to a program that listens on the browser's computer.
    pub(super) fn is_loopback(&self) -> bool {
        is_native_client(&self.url)
    }

    /// Returns the recipient of responses sent to this URI.
    pub fn destination(&self) -> Destination {
        let authority = self.url.authority().to_owned();
        match self.url.scheme() {
            "https" => Destination::Site(authority),
            "http" => Destination::Loopback(authority),
            scheme => Destination::Application(scheme.to_owned()),
        }
    }

    /// Returns the URI with parameters added to its query (RFC 6749, section 4.1.2).
    pub(super) fn with(&self, parameters: &[(&str, &str)]) -> String {
        let query = Serializer::new(String::new()).extend_pairs(parameters).finish();
        let separator = if self.url.query().is_some() { '&' } else { '?' };
        format!("{}{separator}{query}", self.text)
    }
}

/// Whether the URL is http on a loopback host, for a native client (RFC 8252, section 7.3).
fn is_native_client(url: &Url) -> bool {
    url.scheme() == "http" && is_loopback(url)
}

fn without_port(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_port(None).expect("a loopback URL has a host");
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_real_clients_are_accepted() {
        for (text, destination) in [
            ("https://claude.example/api/mcp/auth_callback", Destination::Site("claude.example".to_owned())),
            ("https://app.example:8443/cb?tenant=1", Destination::Site("app.example:8443".to_owned())),
            ("https://app.example", Destination::Site("app.example".to_owned())),
            ("http://localhost:6274/oauth/callback", Destination::Loopback("localhost:6274".to_owned())),
            ("http://127.0.0.1:33418/", Destination::Loopback("127.0.0.1:33418".to_owned())),
            ("http://127.0.0.1:33418", Destination::Loopback("127.0.0.1:33418".to_owned())),
            ("http://[::1]:8090/cb", Destination::Loopback("[::1]:8090".to_owned())),
            ("http://localhost/cb", Destination::Loopback("localhost".to_owned())),
            ("com.example.app:/cb", Destination::Application("com.example.app".to_owned())),
            ("cursor://anysphere.cursor-mcp/oauth/cb", Destination::Application("cursor".to_owned())),
            ("vscode://vscode.github-authentication/did", Destination::Application("vscode".to_owned())),
        ] {
            let uri = RedirectUri::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((uri.as_str(), uri.destination()), (text, destination));
        }
    }

    #[test]
    fn addresses_that_an_attacker_would_register_are_refused() {
        let too_long = format!("https://app.example/{}", "a".repeat(MAX_URI_BYTES));
        for text in [
            // Scripts and local content.
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "java\tscript:alert(1)",
            " javascript:alert(1)",
            "vbscript:msgbox",
            "data:text/html,<script>alert(1)</script>",
            "blob:https://app.example/1",
            "filesystem:https://app.example/1",
            "file:///etc/passwd",
            "about:blank",
            "view-source:https://app.example",
            "intent://app#Intent;end",
            // Codes over plain HTTP to other machines.
            "http://app.example/cb",
            "http://192.168.0.9/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://localhost.evil.example/cb",
            "http://localhost@evil.example/cb",
            "ws://localhost/cb",
            // URIs that a browser would parse differently.
            "https://good.example@evil.example/cb",
            "https://good.example\\@evil.example/cb",
            "https:\\\\evil.example/cb",
            "https:evil.example/cb",
            "https:/evil.example/cb",
            "https://GOOD.example/cb",
            "https://good.example/a/../cb",
            "https://good.example:443/cb",
            "http://127.1/cb",
            "http://0x7f000001/cb",
            "https://good.example/cb\r\nSet-Cookie: a=b",
            "https://good.example/c b",
            "https://g\u{f6}od.example/cb",
            "https://%67ood.example/cb",
            // Not absolute, or with a fragment.
            "https://app.example/cb#fragment",
            "https://app.example/cb#",
            "//evil.example/cb",
            "/cb",
            "https://",
            "",
            &too_long,
        ] {
            let error = RedirectUri::parse(text).expect_err(text);
            assert_eq!(error.code, ErrorCode::InvalidRedirectUri, "{text}");
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_host_is_free() {
        for (registered, requested, admitted) in [
            ("https://app.example/cb", "https://app.example/cb", true),
            ("https://app.example/cb", "https://app.example/cb/", false),
            ("https://app.example/cb", "https://app.example/cb?next=https://evil.example", false),
            ("https://app.example/cb", "https://app.example:444/cb", false),
            ("https://app.example/cb", "https://evil.example/cb", false),
            ("https://app.example/cb", "http://localhost/cb", false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:50123/cb", true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", true),
            ("http://[::1]/cb", "http://[::1]:2/cb", true),
            ("http://localhost:1/cb", "http://localhost:2/cb", true),
            ("http://localhost:1/cb", "http://localhost:2/other", false),
            ("http://localhost:1/cb", "http://127.0.0.1:1/cb", false),
            ("http://localhost:1/cb", "https://localhost:1/cb", false),
            ("app://cb:1/x", "app://cb:2/x", false),
        ] {
            let registered = RedirectUri::parse(registered).unwrap();
            let requested = RedirectUri::parse(requested).unwrap();
            assert_eq!(registered.admits(&requested), admitted, "{registered:?} {requested:?}");
        }
    }

    #[test]
    fn parameters_join_the_query_that_is_there() {
        let plain = RedirectUri::parse("cursor://host/cb").unwrap();
        let tenant = RedirectUri::parse("https://app.example/cb?tenant=1").unwrap();

        assert_eq!(plain.with(&[("state", "a&b=c\r\n")]), "cursor://host/cb?state=a%26b%3Dc%0D%0A");
        assert_eq!(tenant.with(&[("code", "x")]), "https://app.example/cb?tenant=1&code=x");
    }
}
