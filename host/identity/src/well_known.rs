//! Well-known URLs of an issuer's metadata.

use url::Url;

/// Returns the two possible URLs of an issuer's metadata, in the order of trying. `None` unless the issuer is
/// an http(s) URL without user information, query and fragment.
///
/// `OpenID` Connect Discovery appends the well-known path to the issuer; RFC 8414, section 3.1 inserts it
/// before the issuer's path.
pub(crate) fn metadata_urls(issuer: &str) -> Option<[Url; 2]> {
    let url = Url::parse(issuer).ok()?;
    let plain = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || !plain {
        return None;
    }
    let path = url.path().trim_end_matches('/');
    let at = |path: String| {
        let mut url = url.clone();
        url.set_path(&path);
        url
    };
    Some([
        at(format!("{path}/.well-known/openid-configuration")),
        at(format!("/.well-known/oauth-authorization-server{path}")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_well_known_places_follow_from_the_issuer() {
        let places = |issuer| metadata_urls(issuer).map(|urls| urls.map(String::from));

        for issuer in ["https://id.example", "https://id.example/"] {
            assert_eq!(
                places(issuer).unwrap(),
                [
                    "https://id.example/.well-known/openid-configuration",
                    "https://id.example/.well-known/oauth-authorization-server",
                ]
            );
        }
        assert_eq!(
            places("https://id.example/tenant/one").unwrap(),
            [
                "https://id.example/tenant/one/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server/tenant/one",
            ]
        );
        for issuer in [
            "",
            "id.example",
            "ftp://id.example",
            "https://id.example?x",
            "https://id.example#x",
            "https://u@id.example",
        ] {
            assert_eq!(places(issuer), None, "{issuer}");
        }
    }
}
