//! What makes a document the same one when it comes again, and what makes its content another.

use url::Url;

use crate::sha256::Sha256;

/// Within a feed: the canonical URL, else the file's URL, else the text itself.
pub(super) fn identity(url: Option<&str>, file_url: Option<&str>, text: &str) -> String {
    match (url, file_url) {
        (Some(url), _) => format!("url {url}"),
        (None, Some(file_url)) => format!("file {file_url}"),
        (None, None) => format!("sha256 {}", hex::encode(Sha256::digest(text))),
    }
}

/// SHA-256 of what is indexed of a document as it was given.
pub(super) fn content_digest(title: &str, text: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(title);
    // No title has this byte: where it ends is part of what is hashed.
    hasher.update([0]);
    hasher.update(text);
    hasher.finish()
}

/// Reads the URL of a page or a file, as browsers do, without the part that never reaches a server; or
/// says what is wrong with it.
pub(super) fn canonical_url(text: &str) -> Result<String, &'static str> {
    const ABSOLUTE: &str = "must be an absolute http or https URL";

    let mut url = Url::parse(text).map_err(|_| ABSOLUTE)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(ABSOLUTE);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a user name or a password");
    }
    url.set_fragment(None);
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_page_has_one_url_however_it_is_spelled() {
        for (given, canonical) in [
            ("https://Example.COM", "https://example.com/"),
            ("https://example.com:443/a/../b", "https://example.com/b"),
            (" https://example.com/a#part ", "https://example.com/a"),
            ("https://example.com/a b?q=ä", "https://example.com/a%20b?q=%C3%A4"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://example.com/A?b=C", "https://example.com/A?b=C"),
        ] {
            assert_eq!(canonical_url(given).as_deref(), Ok(canonical));
        }
    }

    #[test]
    fn what_is_no_page_and_what_holds_credentials_is_refused() {
        for (given, reason) in [
            ("", "absolute"),
            ("/a", "absolute"),
            ("example.com/a", "absolute"),
            ("ftp://example.com/a", "absolute"),
            ("javascript:alert(1)", "absolute"),
            ("data:text/plain,a", "absolute"),
            ("file:///etc/passwd", "absolute"),
            ("https://", "absolute"),
            ("https://ana@example.com/", "user name"),
            ("https://ana:pass@example.com/", "password"),
            ("https://:pass@example.com/", "password"),
        ] {
            let refusal = canonical_url(given).expect_err(given);
            assert!(refusal.contains(reason), "{given}: {refusal}");
        }
    }

    #[test]
    fn the_page_comes_before_the_file_and_the_file_before_the_text() {
        assert_eq!(identity(Some("https://a/"), Some("https://b/"), "text"), "url https://a/");
        assert_eq!(identity(None, Some("https://b/"), "text"), "file https://b/");
        assert_eq!(
            identity(None, None, "abc"),
            "sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn where_the_title_ends_is_part_of_the_content() {
        assert_ne!(content_digest("ab", "c"), content_digest("a", "bc"));
        assert_eq!(content_digest("a", "bc"), content_digest("a", "bc"));
    }
}
