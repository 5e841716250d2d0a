//! Source and signer of versions, and the rule which versions may follow a signed one.
//!
//! Invariants:
//! - the signer of a version is what this server has verified for the bytes that it has received; the source
//!   is what the operator's command has stated;
//! - once a version of a toolkit was signed by a publisher, no version that this publisher has not signed
//!   becomes live in any way, until an operator resets the toolkit's publisher. This outlives the removal of
//!   the toolkit.

use std::collections::HashSet;
use std::fmt;

use kitbag_base::signatures::Signature;
use kitbag_net::oci::PinnedReference;
use serde::{Deserialize, Serialize};

use super::error::ToolkitError;

/// Statement about a component by its sender, or by the server itself if it has pulled the component. Empty
/// for a plain file.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The registry reference from which the sender has pulled it.
    pub source: Option<PinnedReference>,
    /// Whether this server itself has pulled it.
    pub pulled: bool,
    /// A publisher's signature of the component's bytes.
    pub signature: Option<Signature>,
}

/// Rule for signatures of versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureRule {
    /// Signatures are optional, unless the toolkit's earlier version was signed.
    #[default]
    Optional,
    /// All versions that become live must be signed.
    Required,
}

/// Source of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Source {
    /// An uploaded file.
    #[default]
    Upload,
    /// A registry.
    Registry {
        /// Registry reference, without the digest.
        reference: String,
        /// Digest of the manifest in the registry, such as `sha256:…`.
        digest: String,
        /// Whether this server has pulled it from there. Otherwise the uploader has stated so.
        #[serde(default)]
        pulled: bool,
    },
}

/// The publisher whose signature this server has verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedBy {
    /// Name that operators have given the publisher.
    pub publisher: String,
    /// SHA-256 of the publisher's key in DER, hexadecimal.
    pub key: String,
    /// Whether the key belongs to no publisher any more. Set for display only; otherwise `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// Source and signer of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Source of the version.
    #[serde(default)]
    pub source: Source,
    /// Signer of the version; `None` if it is not signed.
    #[serde(default)]
    pub signed_by: Option<SignedBy>,
}

/// A publisher whose signatures this server accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Publisher {
    /// Name that operators have given the publisher.
    pub name: String,
    /// SHA-256 of the key in DER, hexadecimal.
    pub key: String,
    /// The operator who added it.
    pub added_by: String,
    /// Time of the addition: RFC 3339, UTC.
    pub added_at: String,
}

impl Source {
    pub(super) fn of(reference: &PinnedReference, pulled: bool) -> Self {
        let (reference, digest) = (reference.reference().to_string(), reference.digest().to_string());
        Self::Registry { reference, digest, pulled }
    }

    /// Whether this server has pulled the component from a registry.
    pub fn is_pulled(&self) -> bool {
        matches!(self, Self::Registry { pulled: true, .. })
    }

    /// Whether both are the same place, regardless of who stated it.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.pinned() == other.pinned()
    }

    /// Returns the registry reference with the digest; `None` for an upload.
    pub fn pinned(&self) -> Option<String> {
        match self {
            Self::Upload => None,
            Self::Registry { reference, digest, .. } => Some(format!("{reference}@{digest}")),
        }
    }
}

impl Provenance {
    /// Formats the source as a phrase that begins with `from`, or with `said to be from` if the server has
    /// not pulled it itself.
    pub fn told(&self) -> String {
        let is_said = self.source != Source::Upload && !self.source.is_pulled();
        format!("{}from {self}", if is_said { "said to be " } else { "" })
    }

    /// Whether source and publisher are the same, regardless of who stated the source.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.source.is_same(&other.source) && self.signed_by == other.signed_by
    }

    /// Marks the signer as removed if its key is not among `known`.
    pub(super) fn mark_removed(&mut self, known: &HashSet<String>) {
        if let Some(signed_by) = &mut self.signed_by {
            signed_by.removed = !known.contains(&signed_by.key);
        }
    }
}

impl fmt::Display for SignedBy {
    /// Formats the signer like `acme (key 7bcc96c5e1abafcd)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key: String = self.key.chars().take(SHOWN_OF_KEY).collect();
        write!(out, "{} (key {key}{})", self.publisher, if self.removed { ", removed since" } else { "" })
    }
}

impl fmt::Display for Provenance {
    /// Formats source and signer like `oci://ghcr.io/acme/weather:1.0.0@sha256:…, signed by acme (key
    /// 7bcc96c5e1abafcd)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.source.pinned().as_deref().unwrap_or("uploaded file"))?;
        match &self.signed_by {
            Some(signed_by) => write!(out, ", signed by {signed_by}"),
            None => out.write_str(", not signed"),
        }
    }
}

/// Checks whether a version may become live. `pinned` is the publisher that the toolkit is bound to,
/// `signed_by` the signer of the version.
pub(super) fn admit(
    id: &str,
    rule: SignatureRule,
    pinned: Option<&SignedBy>,
    signed_by: Option<&SignedBy>,
) -> Result<(), ToolkitError> {
    match (pinned, signed_by) {
        (Some(pinned), Some(by)) if pinned.key == by.key => Ok(()),
        (Some(pinned), by) => Err(ToolkitError::OtherPublisher {
            id: id.to_owned(),
            publisher: pinned.publisher.clone(),
            signed_by: by.map(|by| by.publisher.clone()),
        }),
        (None, None) if rule == SignatureRule::Required => {
            Err(ToolkitError::SignatureRequired(Some(id.to_owned())))
        }
        (None, _) => Ok(()),
    }
}

/// Maximum length of a publisher's name, in characters.
const MAX_NAME_CHARS: usize = 64;
/// Number of hexadecimal digits of a key's SHA-256 that are shown beside the publisher's name.
const SHOWN_OF_KEY: usize = 16;
/// Forbidden names, reduced by [`look`]: they would claim that nobody, or the server itself, has signed.
const NOT_NAMES: [&str; 10] =
    ["nobody", "noone", "none", "null", "unknown", "unsigned", "notsigned", "anonymous", "server", "kitbag"];

/// Whether a text is a valid publisher name: letters, digits, and `-`, `_`, `.` or `@` between them. Names
/// appear in sentences about the signer, and in URLs.
/// Checks whether a publisher may have this name.
pub(super) fn admit_name(name: &str) -> Result<(), ToolkitError> {
    if !is_name(name) {
        return Err(ToolkitError::PublisherName(name.chars().take(MAX_NAME_CHARS).collect()));
    }
    if NOT_NAMES.iter().any(|word| looks_like(name, word)) {
        return Err(ToolkitError::PublisherNobody(name.to_owned()));
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric();
    name.len() <= MAX_NAME_CHARS
        && name.starts_with(is_word)
        && name.ends_with(is_word)
        && name.chars().all(|letter| is_word(letter) || matches!(letter, '-' | '_' | '.' | '@'))
}

/// Whether people may mistake one name for the other.
pub(super) fn looks_like(one: &str, other: &str) -> bool {
    look(one) == look(other)
}

/// Reduces a name to its appearance: ignores case and punctuation, and maps letters that look alike to one
/// (`0` to `o`, `rn` to `m`).
fn look(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase());
    let letters: String = letters
        .map(|letter| match letter {
            '0' => 'o',
            '1' | 'i' => 'l',
            '5' => 's',
            other => other,
        })
        .collect();
    letters.replace("rn", "m").replace("vv", "w")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(name: &str, key: &str) -> SignedBy {
        SignedBy { publisher: name.to_owned(), key: key.to_owned(), removed: false }
    }

    #[test]
    fn names_that_look_alike_are_told_from_others() {
        for (one, other) in [
            ("acme", "ACME"),
            ("acme", "ac-me"),
            ("acme", "acrne"),
            ("kit.example", "klt-example"),
            ("nobody", "N0-body"),
            ("ana1", "anal"),
        ] {
            assert!(looks_like(one, other), "{one} {other}");
        }
        for (one, other) in [("acme", "acme2"), ("ana", "anna"), ("acme", "acne")] {
            assert!(!looks_like(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_one_publisher_signed_is_followed_by_what_the_same_one_signed() {
        let (acme, renamed, other) = (by("acme", "k1"), by("acme-corp", "k1"), by("acme", "k2"));
        for rule in [SignatureRule::Optional, SignatureRule::Required] {
            let check = |pinned, signed| admit("wat", rule, pinned, signed);

            assert!(check(Some(&acme), Some(&acme)).is_ok());
            assert!(check(Some(&acme), Some(&renamed)).is_ok(), "the key counts, and not the name");
            assert!(check(None, Some(&acme)).is_ok());
            assert!(matches!(check(Some(&acme), Some(&other)), Err(ToolkitError::OtherPublisher { .. })));
            assert!(matches!(check(Some(&acme), None), Err(ToolkitError::OtherPublisher { .. })));
        }
        assert!(admit("wat", SignatureRule::Optional, None, None).is_ok());
        let required = admit("wat", SignatureRule::Required, None, None);
        assert!(matches!(required, Err(ToolkitError::SignatureRequired(_))));
    }

    #[test]
    fn a_name_is_a_word_that_hides_nothing() {
        for name in ["acme", "Acme-2", "ana@example.com", "a", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in
            ["", " ", "-a", "a-", "a b", "a/b", "acme, not signed", "аcme", "a\u{200b}", &"x".repeat(65)]
        {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn provenance_is_told_in_words() {
        let mut provenance = Provenance::default();
        assert_eq!(provenance.to_string(), "uploaded file, not signed");
        provenance.source = Source::Registry {
            reference: "oci://ghcr.io/a:1".to_owned(),
            digest: "sha256:00".to_owned(),
            pulled: false,
        };
        provenance.signed_by = Some(by("acme", &"0123456789abcdef".repeat(4)));
        assert_eq!(
            provenance.to_string(),
            "oci://ghcr.io/a:1@sha256:00, signed by acme (key 0123456789abcdef)"
        );
        assert!(provenance.told().starts_with("said to be from oci://ghcr.io/a:1@"));
        provenance.mark_removed(&HashSet::new());
        assert!(provenance.to_string().ends_with("signed by acme (key 0123456789abcdef, removed since)"));
        if let Source::Registry { pulled, .. } = &mut provenance.source {
            *pulled = true;
        }
        let mut said = provenance.clone();
        if let Source::Registry { pulled, .. } = &mut said.source {
            *pulled = false;
        }
        assert!(said != provenance && said.is_same(&provenance));
        assert!(!said.is_same(&Provenance { signed_by: None, ..said.clone() }));
        assert!(!said.is_same(&Provenance { source: Source::Upload, ..said.clone() }));
        assert!(provenance.told().starts_with("from oci://ghcr.io/a:1@"));
    }
}
