//! Where a version comes from and who signed it, and which versions may follow one that is signed.
//!
//! Invariants:
//! - who signed a version is what this server has verified of the bytes that it has received; where they were pulled from is
//!   what the operator's command has said;
//! - once a version of a toolkit was signed by a publisher, no version becomes live that this publisher has not signed, by
//!   whichever way, until an operator resets it. That outlives the removal of the toolkit.

use std::collections::HashSet;
use std::fmt;

use kitbag_base::signatures::{PublicKey, Signature};
use kitbag_database::audit::Actor;
use kitbag_net::oci::PinnedReference;
use serde::{Deserialize, Serialize};

use super::{ToolkitError, Toolkits};

/// What is said about a component by its sender, or by the server that has pulled it. Nothing is said of a plain file.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Where the sender has pulled it from.
    pub source: Option<PinnedReference>,
    /// Whether it is this server itself that has pulled it.
    pub pulled: bool,
    /// A publisher's signature of its bytes.
    pub signature: Option<Signature>,
}

/// Whether versions have to be signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignatureRule {
    /// No, unless the version before was.
    #[default]
    Optional,
    /// Yes, all that become live.
    Required,
}

/// Where a version came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Source {
    /// An uploaded file.
    #[default]
    Upload,
    /// A registry.
    Registry {
        /// The reference, without the digest.
        reference: String,
        /// Digest of the manifest there, such as `sha256:…`.
        digest: String,
        /// Whether this server has pulled it from there. Otherwise whoever has uploaded it said so.
        #[serde(default)]
        pulled: bool,
    },
}

/// The publisher whose signature this server has verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedBy {
    /// The name that operators have given the publisher.
    pub publisher: String,
    /// SHA-256 of the publisher's key in DER, hexadecimal.
    pub key: String,
    /// Whether the key is no publisher's any more. Filled in for people; `false` where it does not matter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// Where a version comes from, and who signed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Where it comes from.
    #[serde(default)]
    pub source: Source,
    /// Who signed it; `None` if nobody did.
    #[serde(default)]
    pub signed_by: Option<SignedBy>,
}

/// A publisher, whose signatures this server knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Publisher {
    /// The name that operators have given the publisher.
    pub name: String,
    /// SHA-256 of the key in DER, hexadecimal.
    pub key: String,
    /// The operator who added it.
    pub added_by: String,
    /// RFC 3339, UTC.
    pub added_at: String,
}

impl Source {
    fn of(reference: &PinnedReference, pulled: bool) -> Self {
        let (reference, digest) = (reference.reference().to_string(), reference.digest().to_string());
        Self::Registry { reference, digest, pulled }
    }

    /// Whether this server has pulled it from a registry.
    pub fn is_pulled(&self) -> bool {
        matches!(self, Self::Registry { pulled: true, .. })
    }

    /// Whether it is the same place, whoever says so.
    fn is_same(&self, other: &Self) -> bool {
        self.pinned() == other.pinned()
    }

    /// The reference with the digest, if it is one.
    pub fn pinned(&self) -> Option<String> {
        match self {
            Self::Upload => None,
            Self::Registry { reference, digest, .. } => Some(format!("{reference}@{digest}")),
        }
    }
}

impl Provenance {
    /// The same in words that begin with `from`, or with `said to be from` where the server has not pulled it itself.
    pub fn told(&self) -> String {
        let is_said = self.source != Source::Upload && !self.source.is_pulled();
        format!("{}from {self}", if is_said { "said to be " } else { "" })
    }

    /// Whether both are from the same place and signed by the same publisher, whoever says so of the place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.source.is_same(&other.source) && self.signed_by == other.signed_by
    }

    /// Marks a publisher whose key is not among `known`.
    pub(super) fn mark_removed(&mut self, known: &HashSet<String>) {
        if let Some(signed_by) = &mut self.signed_by {
            signed_by.removed = !known.contains(&signed_by.key);
        }
    }
}

impl fmt::Display for SignedBy {
    /// Such as `acme (key 7bcc96c5e1abafcd)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key: String = self.key.chars().take(SHOWN_OF_KEY).collect();
        write!(out, "{} (key {key}{})", self.publisher, if self.removed { ", removed since" } else { "" })
    }
}

impl fmt::Display for Provenance {
    /// Such as `oci://ghcr.io/acme/weather:1.0.0@sha256:…, signed by acme (key 7bcc96c5e1abafcd)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.source.pinned().as_deref().unwrap_or("uploaded file"))?;
        match &self.signed_by {
            Some(signed_by) => write!(out, ", signed by {signed_by}"),
            None => out.write_str(", not signed"),
        }
    }
}

/// Checks whether a version may become live: `pinned` is the publisher that the toolkit is bound to, `signed_by` who has signed
/// the version.
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

impl Toolkits {
    /// Has versions signed by this rule.
    #[must_use]
    pub fn with_signature_rule(self, signature_rule: SignatureRule) -> Self {
        Self { signature_rule, ..self }
    }

    /// What is recorded of a component whose SHA-256 is `digest`, hexadecimal. Fails if its signature is not one of a
    /// publisher's.
    pub(super) async fn provenance(&self, digest: &str, origin: &Origin) -> Result<Provenance, ToolkitError> {
        let source = origin.source.as_ref().map(|source| Source::of(source, origin.pulled));
        let source = source.unwrap_or_default();
        let Some(signature) = &origin.signature else {
            // Before anything of it is compiled.
            return match self.signature_rule {
                SignatureRule::Required => Err(ToolkitError::SignatureRequired(None)),
                SignatureRule::Optional => Ok(Provenance { source, signed_by: None }),
            };
        };
        let bytes = hex::decode(digest).ok().and_then(|digest| digest.try_into().ok());
        let digest = bytes.expect("a digest is SHA-256 in hexadecimal");
        let mut keys = self.store.publisher_keys().await?.into_iter();
        let signed_by = keys.find_map(|(publisher, der)| {
            let key = PublicKey::from_der(&der).ok().filter(|key| key.has_signed(&digest, signature))?;
            Some(SignedBy { publisher, key: key.fingerprint(), removed: false })
        });
        match signed_by {
            Some(_) => Ok(Provenance { source, signed_by }),
            None => Err(ToolkitError::UnknownSignature),
        }
    }

    /// The publishers, by name.
    pub async fn publishers(&self) -> Result<Vec<Publisher>, ToolkitError> {
        self.store.publishers().await
    }

    /// Adds a publisher.
    pub async fn add_publisher(
        &self,
        name: &str,
        key: &PublicKey,
        by: &Actor,
    ) -> Result<Publisher, ToolkitError> {
        if !is_name(name) {
            return Err(ToolkitError::PublisherName(name.chars().take(MAX_NAME_CHARS).collect()));
        }
        if NOT_NAMES.iter().any(|word| looks_like(name, word)) {
            return Err(ToolkitError::PublisherNobody(name.to_owned()));
        }
        self.store.add_publisher(name, key, by).await
    }

    /// Removes a publisher: from now on no version that it has signed becomes live.
    pub async fn remove_publisher(&self, name: &str, by: &Actor) -> Result<(), ToolkitError> {
        self.store.remove_publisher(name, by).await
    }

    /// Unbinds a toolkit from its publisher: the next version may be signed by another one, or by none. Returns the publisher.
    pub async fn reset_publisher(&self, id: &str, by: &Actor) -> Result<SignedBy, ToolkitError> {
        self.store.reset_publisher(id, by).await
    }
}

/// Longest name of a publisher, in characters.
const MAX_NAME_CHARS: usize = 64;
/// What is shown of the SHA-256 of a key beside the publisher's name, in digits.
const SHOWN_OF_KEY: usize = 16;
/// Words that say that nobody has signed, or that the server has, as names look ([`look`]).
const NOT_NAMES: [&str; 10] =
    ["nobody", "noone", "none", "null", "unknown", "unsigned", "notsigned", "anonymous", "server", "kitbag"];

/// Whether this names a publisher: letters, digits, and `-`, `_`, `.` or `@` between them. Names stand in sentences that say who
/// has signed, and in URLs.
fn is_name(name: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric();
    name.len() <= MAX_NAME_CHARS
        && name.starts_with(is_word)
        && name.ends_with(is_word)
        && name.chars().all(|letter| is_word(letter) || matches!(letter, '-' | '_' | '.' | '@'))
}

/// Whether people may take one name for the other.
pub(super) fn looks_like(one: &str, other: &str) -> bool {
    look(one) == look(other)
}

/// What is left of a name for a reader in a hurry: neither case nor what is between letters counts, nor which of several letters
/// it is that look alike.
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
