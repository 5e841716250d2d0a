//! URLs below the public URL of a server, which may have a path: `https://host.example/kitbag`.

use url::Url;

/// Returns `{base_url}{path}` without doubling the slash.
pub fn below(base_url: &Url, path: &str) -> String {
    format!("{}{path}", base_url.as_str().trim_end_matches('/'))
}

/// Returns the path of a base URL: empty, or for instance `/kitbag`.
pub fn path_of(base_url: &Url) -> &str {
    base_url.path().trim_end_matches('/')
}

/// Returns the URL of metadata about `{base_url}{path}`: the well-known part precedes the whole path (RFC
/// 8414, section 3.1; RFC 9728, section 3.1).
pub fn well_known(base_url: &Url, name: &str, path: &str) -> Url {
    let mut url = base_url.clone();
    url.set_path(&format!("/.well-known/{name}{}{path}", path_of(base_url)));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_the_base_and_metadata_is_beside_it() {
        let urls = |base: &str| {
            let base = Url::parse(base).expect("a URL");
            let metadata = well_known(&base, "oauth-protected-resource", "/mcp");
            (below(&base, "/mcp"), path_of(&base).to_owned(), metadata.to_string())
        };
        let all =
            |mcp: &str, path: &str, metadata: &str| (mcp.to_owned(), path.to_owned(), metadata.to_owned());

        for base in ["https://h.example", "https://h.example/"] {
            let metadata = "https://h.example/.well-known/oauth-protected-resource/mcp";
            assert_eq!(urls(base), all("https://h.example/mcp", "", metadata));
        }
        for base in ["https://h.example/a/b", "https://h.example/a/b/"] {
            let metadata = "https://h.example/.well-known/oauth-protected-resource/a/b/mcp";
            assert_eq!(urls(base), all("https://h.example/a/b/mcp", "/a/b", metadata));
        }
    }
}
