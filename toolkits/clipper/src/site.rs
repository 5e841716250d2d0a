//! Determines the site of a page.

use kitbag_toolkit::http::Uri;
use kitbag_toolkit::prelude::*;

/// Returns the host of a page in lower case without `www.`, so that a site has one feed.
pub(crate) fn of_page(url: &str) -> Result<String, ToolError> {
    let invalid_url = || {
        ToolError::new(format!("{url:?} is not the URL of a web page. Give one with https:// or http://."))
    };
    // The fragment names a place in the page, and the URI parser does not accept it.
    let page = url.split('#').next().unwrap_or_default();
    let uri: Uri = page.parse().map_err(|_| invalid_url())?;
    match (uri.scheme_str(), uri.host()) {
        (Some("https" | "http"), Some(host)) if !host.is_empty() => Ok(normalize(host)),
        _ => Err(invalid_url()),
    }
}

/// Returns the site that a person means: a host with or without `www.`, or the URL of a page.
pub(crate) fn named(text: &str) -> String {
    let text = text.trim();
    of_page(text).unwrap_or_else(|_| normalize(text.trim_end_matches('/')))
}

fn normalize(host: &str) -> String {
    let host = host.to_lowercase();
    host.strip_prefix("www.").unwrap_or(&host).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_its_host_however_it_is_named() {
        for (named_as, site) in [
            ("https://www.Example.com/a?b#c", "example.com"),
            ("http://example.com:8080/", "example.com"),
            ("example.com", "example.com"),
            (" WWW.example.com/ ", "example.com"),
        ] {
            assert_eq!(named(named_as), site);
        }
        for wrong in ["", "example.com", "ftp://example.com/", "/page", "https://", "javascript:alert(1)"] {
            assert!(of_page(wrong).is_err(), "{wrong}");
        }
    }
}
