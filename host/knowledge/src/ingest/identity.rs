//! Identity of a document across repeated ingests, and digest of its content.

use kitbag_base::sha256::Sha256;
use kitbag_manifest::documents::Identity;

/// Key of a document within its feed: the canonical URL, else the file's URL, else the digest of the text.
pub(super) fn identity(it: Identity<'_>) -> String {
    match it {
        Identity::Url(url) => format!("url {url}"),
        Identity::File(url) => format!("file {url}"),
        Identity::Text(text) => format!("sha256 {}", hex::encode(Sha256::digest(text))),
    }
}

/// SHA-256 of a document's title and text as they were given.
pub(crate) fn content_digest(title: &str, text: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(title);
    // Separator that no title contains, so that moving text between title and body changes the digest.
    hasher.update([0]);
    hasher.update(text);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_digest_and_a_page_or_a_file_by_its_url() {
        assert_eq!(identity(Identity::Url("https://a/")), "url https://a/");
        assert_eq!(identity(Identity::File("https://b/")), "file https://b/");
        assert_eq!(
            identity(Identity::Text("abc")),
            "sha256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn where_the_title_ends_is_part_of_the_content() {
        assert_ne!(content_digest("ab", "c"), content_digest("a", "bc"));
        assert_eq!(content_digest("a", "bc"), content_digest("a", "bc"));
    }
}
