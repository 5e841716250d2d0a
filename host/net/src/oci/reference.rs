//! References to components in registries: `oci://REGISTRY/NAME[:TAG][@sha256:…]`, by the grammar of the OCI
//! distribution specification.

use std::fmt;
use std::str::FromStr;

use kitbag_base::loopback::is_loopback_host;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Prefix that distinguishes references from file paths.
pub const SCHEME: &str = "oci://";
/// Maximum length of a reference without its digest, in bytes. With a digest it has at most 400, which fit
/// into an entry of the audit log.
const MAX_BYTES: usize = 328;
const TOO_LONG: &str = "it is longer than 328 bytes, with its tag and without a digest";
/// Maximum lengths of a name and of a tag, in bytes.
const MAX_NAME_BYTES: usize = 255;
const MAX_TAG_BYTES: usize = 128;
/// The tag of a reference that names neither tag nor digest.
const DEFAULT_TAG: &str = "latest";
/// Docker Hub: its name in references, and the host of its API.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// A reference to a component in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    registry: String,
    name: String,
    tag: Option<String>,
    digest: Option<ContentDigest>,
}

/// A reference with the digest of its manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PinnedReference {
    reference: Reference,
    digest: ContentDigest,
}

/// The digest of a manifest or a blob: `sha256:` and 64 hexadecimal digits, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentDigest(String);

/// Error of parsing a reference.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{text:?} is not a reference ({reason}): it looks like oci://ghcr.io/acme/weather:1.0.0, or ends with @sha256:…"
)]
pub struct InvalidReference {
    text: String,
    reason: &'static str,
}

impl Reference {
    /// Host of the registry, with the port if the reference has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Repository name within the registry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Digest, if the reference has one.
    pub fn digest(&self) -> Option<&ContentDigest> {
        self.digest.as_ref()
    }

    /// Tag, if the reference has one.
    pub fn named_tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the reference with another tag and without a digest; `None` if that is not a valid reference,
    /// since a registry may list any text as a tag.
    pub(super) fn with_tag(&self, tag: &str) -> Option<Self> {
        let tagged = Self { tag: Some(tag.to_owned()), digest: None, ..self.clone() };
        tagged.to_string().parse().ok().filter(|read| *read == tagged)
    }

    /// Returns the reference without its digest.
    pub(super) fn without_digest(&self) -> Self {
        Self { digest: None, ..self.clone() }
    }

    /// Tag, or `latest` if the reference has none.
    pub fn tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(DEFAULT_TAG)
    }

    /// Name of the manifest in requests: the digest, or else the tag.
    pub fn manifest_name(&self) -> &str {
        self.digest.as_ref().map_or_else(|| self.tag(), ContentDigest::as_str)
    }

    /// Returns the possible base URLs of the registry's API, in the order of trying, without a trailing
    /// slash. As in Docker, plain HTTP is possible after HTTPS for registries on this machine.
    pub(super) fn hosts(&self) -> Vec<String> {
        let (registry, host) = DOCKER_HUB;
        let host = if self.registry == registry { host } else { self.registry.as_str() };
        let name = url::Url::parse(&format!("https://{host}/")).ok();
        let is_here = name.as_ref().and_then(url::Url::host).is_some_and(|host| is_loopback_host(&host));
        let schemes: &[&str] = if is_here { &["https", "http"] } else { &["https"] };
        schemes.iter().map(|scheme| format!("{scheme}://{host}")).collect()
    }

    /// Pins the reference to the manifest with this digest. Without tag and digest, the tag becomes `latest`.
    pub fn pinned(&self, digest: ContentDigest) -> PinnedReference {
        let by_tag = self.digest.is_none().then(|| self.tag().to_owned());
        let tag = self.tag.clone().or(by_tag);
        PinnedReference { reference: Self { tag, digest: None, ..self.clone() }, digest }
    }
}

impl PinnedReference {
    /// Reference without the digest.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }

    /// SHA-256 of the manifest.
    pub fn digest(&self) -> &ContentDigest {
        &self.digest
    }

    /// Reference with the digest, which pulls exactly this artifact.
    pub fn by_digest(&self) -> Reference {
        Reference { digest: Some(self.digest.clone()), ..self.reference.clone() }
    }
}

impl ContentDigest {
    /// Creates the digest from the SHA-256 of some content.
    pub(super) fn of_sha256(digest: impl AsRef<[u8]>) -> Self {
        Self(format!("sha256:{}", hex::encode(digest)))
    }

    /// Returns the digest as text: `sha256:` and 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ContentDigest {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let is_hex = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.chars().all(is_hex) => Ok(Self(text.to_owned())),
            _ => Err("a digest is sha256: and 64 hexadecimal digits in lower case"),
        }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        parse(text)
            .map_err(|reason| InvalidReference { text: text.chars().take(MAX_BYTES).collect(), reason })
    }
}

fn parse(text: &str) -> Result<Reference, &'static str> {
    let rest = text.strip_prefix(SCHEME).ok_or("it does not begin with oci://")?;
    let undigested = text.split('@').next().unwrap_or_default().len();
    if undigested > MAX_BYTES {
        return Err(TOO_LONG);
    }
    let (rest, digest) = match rest.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest.parse::<ContentDigest>()?)),
        None => (rest, None),
    };
    let (registry, path) = rest.split_once('/').ok_or("it has no name after the registry")?;
    if !is_registry(registry) {
        return Err("its registry is not a host, or a host and a port");
    }
    let (name, tag) = match path.split_once(':') {
        Some((name, tag)) => (name, Some(tag)),
        None => (path, None),
    };
    if name.len() > MAX_NAME_BYTES || !name.split('/').all(is_name_part) {
        return Err("a name has letters in lower case, digits, and single . _ - or / between them");
    }
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err("a tag has at most 128 letters, digits, and . _ -");
    }
    // Pinning adds the default tag.
    if tag.is_none() && undigested + 1 + DEFAULT_TAG.len() > MAX_BYTES {
        return Err(TOO_LONG);
    }
    Ok(Reference {
        registry: registry.to_owned(),
        name: name.to_owned(),
        tag: tag.map(str::to_owned),
        digest,
    })
}

/// Whether a URL parser reads `registry` as exactly this host and port, so that the displayed registry is the
/// one that is connected to.
fn is_registry(registry: &str) -> bool {
    let plain = |letter: char| {
        letter.is_ascii_lowercase()
            || letter.is_ascii_digit()
            || matches!(letter, '.' | '-' | ':' | '[' | ']')
    };
    if registry.is_empty() || !registry.chars().all(plain) {
        return false;
    }
    // The URL parser drops a scheme's default port, so one of two schemes has to preserve the text.
    let url = url::Url::parse(&format!("http://{registry}/")).ok();
    let https = url::Url::parse(&format!("https://{registry}/")).ok();
    [url, https].into_iter().flatten().any(|url| {
        let host = url.host_str().unwrap_or_default();
        let port = url.port();
        registry == port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    })
}

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
fn is_name_part(part: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let mut words = part.split(is_word).filter(|between| !between.is_empty());
    part.starts_with(is_word)
        && part.ends_with(is_word)
        && words.all(|between| matches!(between, "." | "_" | "__") || between.chars().all(|it| it == '-'))
}

/// `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`
fn is_tag(tag: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    tag.len() <= MAX_TAG_BYTES
        && tag.starts_with(is_word)
        && tag.chars().all(|letter| is_word(letter) || matches!(letter, '.' | '-'))
}

impl FromStr for PinnedReference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let mut reference: Reference = text.parse()?;
        let invalid = || InvalidReference { text: text.to_owned(), reason: "it has no digest (@sha256:…)" };
        let digest = reference.digest.take().ok_or_else(invalid)?;
        Ok(Self { reference, digest })
    }
}

impl TryFrom<String> for PinnedReference {
    type Error = InvalidReference;

    fn try_from(text: String) -> Result<Self, InvalidReference> {
        text.parse()
    }
}

impl From<PinnedReference> for String {
    fn from(pinned: PinnedReference) -> Self {
        pinned.to_string()
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SCHEME}{}/{}", self.registry, self.name)?;
        self.tag.iter().try_for_each(|tag| write!(out, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(out, "@{digest}"))
    }
}

impl fmt::Display for PinnedReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.reference, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:7bcc96c5e1abafcd35e759275bd50210d2c969d9f9c6c268ed2e8701022aed15";

    #[test]
    fn a_reference_is_read_as_it_is_written() {
        for (text, registry, name, tag) in [
            ("oci://ghcr.io/acme/weather", "ghcr.io", "acme/weather", "latest"),
            ("oci://ghcr.io/acme/weather:1.0.0", "ghcr.io", "acme/weather", "1.0.0"),
            ("oci://localhost:5000/a", "localhost:5000", "a", "latest"),
            ("oci://127.0.0.1:5000/a-b/c__d/e.f:V_1", "127.0.0.1:5000", "a-b/c__d/e.f", "V_1"),
            ("oci://[::1]:5000/a:x", "[::1]:5000", "a", "x"),
            ("oci://registry.example:443/a", "registry.example:443", "a", "latest"),
        ] {
            let read: Reference = text.parse().expect(text);
            assert_eq!((read.registry(), read.name(), read.tag()), (registry, name, tag), "{text}");
            assert_eq!(read.to_string(), text);
            let pinned = format!("{text}@{DIGEST}");
            let read: PinnedReference = pinned.parse().expect("a reference");
            assert_eq!((read.to_string(), read.digest().as_str()), (pinned.clone(), DIGEST));
            let by_digest = read.by_digest();
            let read: Reference = pinned.parse().expect("a reference");
            assert_eq!((read.manifest_name(), &read), (DIGEST, &by_digest));
            assert_eq!(read.pinned(DIGEST.parse().expect("a digest")).to_string(), pinned);
            let found =
                text.parse::<Reference>().expect("a reference").pinned(DIGEST.parse().expect("a digest"));
            assert_eq!(found.reference().named_tag(), Some(tag), "what was found by a tag names it");
            assert!(text.parse::<PinnedReference>().is_err());
        }
    }

    #[test]
    fn what_could_mean_something_else_is_no_reference() {
        let long = format!("oci://ghcr.io/{}", "a".repeat(400));
        for text in [
            "",
            "oci://",
            "oci://a",
            "oci:///a",
            "ghcr.io/a",
            "https://ghcr.io/a",
            "oci://ghcr.io/",
            "oci://ghcr.io//a",
            "oci://ghcr.io/A",
            "oci://GHCR.io/a",
            "oci://ghcr.io/a/",
            "oci://ghcr.io/-a",
            "oci://ghcr.io/a..b",
            "oci://ghcr.io/a___b",
            "oci://ghcr.io/../a",
            "oci://ghcr.io/a?b",
            "oci://ghcr.io/a#b",
            "oci://ghcr.io/a b",
            "oci://user@ghcr.io/a",
            "oci://ghcr.io:x/a",
            "oci://ghcr.io:99999/a",
            "oci://ghcr.io\\a/b",
            "oci://127.1/a",
            "oci://0x7f000001/a",
            "oci://xn--/a",
            "oci://ghcr.io/a:",
            "oci://ghcr.io/a:.x",
            "oci://ghcr.io/a:x:y",
            "oci://ghcr.io/a@sha256:00",
            "oci://ghcr.io/a@sha512:00",
            "oci://ghcr.io/a\u{202e}",
            &long,
            &format!("oci://ghcr.io/a@{}", DIGEST.to_uppercase()),
            &format!("oci://ghcr.io/a@{DIGEST}@{DIGEST}"),
            &format!("oci://ghcr.io/a:{}", "x".repeat(129)),
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_longest_reference_can_be_pinned_and_read_again() {
        let registry = format!("{}.example", "a.".repeat(60).trim_end_matches('.'));
        let name = "a".repeat(328 - SCHEME.len() - registry.len() - 1);
        let longest = format!("{SCHEME}{registry}/{}:{}", &name[..name.len() - 101], "t".repeat(100));
        assert_eq!(longest.len(), 328);

        let pinned =
            longest.parse::<Reference>().expect("a reference").pinned(DIGEST.parse().expect("a digest"));

        assert_eq!(pinned.to_string().len(), 400);
        assert_eq!(pinned.to_string().parse(), Ok(pinned));
        assert!(format!("{longest}t").parse::<Reference>().is_err());
        let untagged =
            format!("{SCHEME}{registry}.{}/{}", "b.".repeat(40).trim_end_matches('.'), &name[..107]);
        for (text, is_one) in [(untagged.as_str(), true), (&format!("{untagged}a"), false)] {
            let read = text.parse::<Reference>().map(|read| read.pinned(DIGEST.parse().expect("a digest")));
            assert_eq!(read.is_ok(), is_one, "{}", text.len());
            assert!(read.into_iter().all(|read| read.to_string().parse() == Ok(read)));
        }
    }

    #[test]
    fn plain_http_is_for_registries_on_this_machine() {
        for (text, hosts) in [
            ("oci://ghcr.io/a", &["https://ghcr.io"][..]),
            ("oci://docker.io/acme/a", &["https://registry-1.docker.io"]),
            ("oci://10.0.0.1:5000/a", &["https://10.0.0.1:5000"]),
            ("oci://localhost.example/a", &["https://localhost.example"]),
            ("oci://localhost:5000/a", &["https://localhost:5000", "http://localhost:5000"]),
            ("oci://127.0.0.1:5000/a", &["https://127.0.0.1:5000", "http://127.0.0.1:5000"]),
        ] {
            assert_eq!(text.parse::<Reference>().expect("a reference").hosts(), hosts, "{text}");
        }
    }
}
