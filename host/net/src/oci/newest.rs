//! Look-up of the manifest that a tag names now, or of a later version.

use http::{StatusCode, header};
use semver::Version;
use serde::Deserialize;
use url::Url;

use super::authorization::Action;
use super::error::malformed;
use super::registry::{Registry, Wanted};
use super::sending::AnsweredBy;
use super::{PinnedReference, Reference, RegistryError, answer, artifact};

/// Page size of tag lists, as a number of tags and as a maximum in bytes.
const TAGS_AT_A_TIME: usize = 1000;
const MAX_PAGE_BYTES: u64 = 1 << 20;
/// Maximum number of pages.
const MAX_PAGES: usize = 10;

#[derive(Deserialize)]
struct Page {
    /// Some registries send `null` for an empty list.
    tags: Option<Vec<String>>,
}

impl Registry<'_> {
    /// Returns the artifact that the tag of the reference names now. If the tag is a version (`1.2.0`) and
    /// there are later ones, returns the latest; pre-releases only if the tag is one.
    pub async fn newest(mut self) -> Result<PinnedReference, RegistryError> {
        let mut wanted = self.reference().without_digest();
        if let Some(version) = wanted.tagged_version() {
            let tags = self.tags().await?;
            wanted = later(&wanted, &version, &tags).unwrap_or(wanted);
        }
        let found = self.manifest(wanted.tag()).await?;
        match artifact::layer(&wanted, &found.manifest, &found.content_type) {
            // Not a manifest at all. Whether a manifest is a component's is checked when it is pulled.
            Err(error @ RegistryError::Unreadable(_)) => Err(error),
            _ => Ok(wanted.pinned(found.digest)),
        }
    }

    /// Lists all tags of the repository.
    async fn tags(&mut self) -> Result<Vec<String>, RegistryError> {
        let what = "the tags";
        let mut all = Vec::new();
        let mut place = format!("tags/list?n={TAGS_AT_A_TIME}");
        for _ in 0..MAX_PAGES {
            let response = self.ask(&Wanted::get(place), Action::Pull).await?;
            let response = self.expect(response, StatusCode::OK, what).await?;
            let next = next_page(&response);
            let patience = self.pace().patience;
            let body = answer::read(response, self.host(), what, MAX_PAGE_BYTES, patience).await?;
            let page: Page =
                serde_json::from_slice(&body).map_err(|error| malformed("its list of tags", &error))?;
            all.extend(page.tags.unwrap_or_default());
            match next {
                Some(next) => place = next,
                None => return Ok(all),
            }
        }
        let registry = self.host().to_owned();
        Err(RegistryError::TooManyTags { registry, pages: MAX_PAGES })
    }
}

/// Returns the path of the next page, from the `Link` header; only the query of its URL is used.
fn next_page<T>(response: &http::Response<T>) -> Option<String> {
    let link = response.headers().get(header::LINK)?.to_str().ok()?;
    let (url, parameters) = link.strip_prefix('<')?.split_once('>')?;
    let is_next = parameters.replace([' ', '"'], "").split(';').any(|it| it.eq_ignore_ascii_case("rel=next"));
    let url: Url = AnsweredBy::of(response).url.join(url).ok()?;
    let query = url.query().filter(|_| is_next)?;
    Some(format!("tags/list?{query}"))
}

/// Parses a tag as a version. Build metadata is refused: a tag cannot contain `+`.
fn version(tag: &str) -> Option<Version> {
    tag.parse().ok().filter(|version: &Version| version.build.is_empty())
}

/// Returns the reference with the tag of the latest version after `current`. Tags that are invalid in a
/// reference are skipped.
fn later(reference: &Reference, current: &Version, tags: &[String]) -> Option<Reference> {
    let versions = tags.iter().filter_map(|tag| Some((version(tag)?, tag)));
    let versions = versions.filter(|(it, _)| it > current && (it.pre.is_empty() || !current.pre.is_empty()));
    let references = versions.filter_map(|(version, tag)| Some((version, reference.with_tag(tag)?)));
    references.max_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, reference)| reference)
}

impl Reference {
    /// Version in the tag, if the tag is a version.
    pub fn tagged_version(&self) -> Option<Version> {
        version(self.tag())
    }

    /// Whether newer artifacts can be looked up: the reference names a tag.
    pub fn can_be_followed(&self) -> bool {
        self.named_tag().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_version_follows_a_version() {
        let later = |current: &str, tags: &[&str]| {
            let tags: Vec<_> = tags.iter().map(ToString::to_string).collect();
            let reference = format!("oci://ghcr.io/a:{current}").parse().expect("a reference");
            let later = super::later(&reference, &version(current).expect("a version"), &tags);
            later.map(|it| it.tag().to_owned())
        };

        assert_eq!(
            later("1.0.0", &["1.9.0", "1.10.0", "latest", "1.2", "v9.0.0", "0.9.0"]).as_deref(),
            Some("1.10.0")
        );
        assert_eq!(later("1.10.0", &["1.9.0", "1.10.0"]), None);
        assert_eq!(later("1.0.0", &["1.1.0-rc.1"]), None);
        assert_eq!(later("1.1.0-rc.1", &["1.1.0-rc.2", "1.1.0-rc.10"]).as_deref(), Some("1.1.0-rc.10"));
        assert_eq!(later("1.1.0-rc.1", &["1.1.0-rc.2", "1.1.0"]).as_deref(), Some("1.1.0"));
        for tag in ["latest", "1", "1.2", "v1.2.3", "01.2.3", "1.0.1+x"] {
            assert_eq!(version(tag), None, "{tag}");
        }
    }

    #[test]
    fn a_tag_with_which_there_is_no_reference_is_not_followed() {
        let registry = "a.".repeat(60).trim_end_matches('.').to_owned();
        let reference: Reference =
            format!("oci://{registry}.example/{}:1.0.0", "b".repeat(100)).parse().expect("a reference");
        let tags = |length: usize| [format!("2.0.0-{}", "x".repeat(length - 6)), "1.0.1-a".to_owned()];
        let later = |tags: &[String]| {
            let later = later(&reference, &"1.0.0-rc".parse().expect("a version"), tags);
            later.map(|it| it.tag().len())
        };

        assert_eq!(later(&tags(90)), Some(90));
        assert_eq!(later(&tags(128)), Some("1.0.1-a".len()), "the reference is too long");
        assert_eq!(later(&tags(129)), Some("1.0.1-a".len()), "the tag is too long");
        assert_eq!(later(&["1.0.1+x".to_owned(), "1.0.1@x".to_owned()]), None);
    }
}
