//! Web origins whose pages may use the session cookie.

use std::collections::HashSet;

use url::Url;

use super::error::InvalidSettings;

/// Allowed origins, in the spelling that browsers send (RFC 6454, section 6.2).
#[derive(Clone, Debug)]
pub(super) struct Origins(HashSet<String>);

impl Origins {
    /// Builds the set from the operator's list and the service's own origin.
    pub(super) fn new(base_url: &str, allowed: &[String]) -> Result<Self, InvalidSettings> {
        let own = Url::parse(base_url).map_err(|_| InvalidSettings::Origin(base_url.to_owned()))?;
        let mut origins = HashSet::from([own.origin().ascii_serialization()]);
        for origin in allowed {
            origins.insert(parse(origin).ok_or_else(|| InvalidSettings::Origin(origin.clone()))?);
        }
        Ok(Self(origins))
    }

    pub(super) fn contains(&self, origin: &str) -> bool {
        self.0.contains(origin)
    }
}

/// Whether an `azp` is an origin; with some providers it is a client identifier.
pub(super) fn is_origin(party: &str) -> bool {
    party.contains("://")
}

fn parse(origin: &str) -> Option<String> {
    let url = Url::parse(origin).ok()?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let anonymous = url.username().is_empty() && url.password().is_none();
    (bare && anonymous && url.origin().is_tuple()).then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_compared_as_browsers_spell_them() {
        let allowed = ["https://App.Example.com:443/".to_owned(), "http://localhost:3000".to_owned()];
        let origins = Origins::new("https://kb.example.com/base/", &allowed).unwrap();

        for origin in ["https://kb.example.com", "https://app.example.com", "http://localhost:3000"] {
            assert!(origins.contains(origin), "{origin}");
        }
        for origin in
            ["null", "", "http://kb.example.com", "https://app.example.com.evil.example", "http://localhost"]
        {
            assert!(!origins.contains(origin), "{origin}");
        }
    }

    #[test]
    fn what_is_no_origin_cannot_be_configured() {
        for origin in [
            "*",
            "null",
            "app.example.com",
            "https://a.example/path",
            "https://u@a.example",
            "file:///",
            "data:,x",
        ] {
            let result = Origins::new("https://kb.example.com", &[origin.to_owned()]);

            assert!(matches!(result, Err(InvalidSettings::Origin(_))), "{origin}");
        }
    }
}
