//! Verifies the signatures of components.

use kitbag_base::signatures::PublicKey;

use super::error::ToolkitError;
use super::provenance::{Origin, Provenance, SignatureRule, SignedBy, Source};
use super::store::Publishers;

/// Verifies signatures of components with the keys of publishers.
#[derive(Clone)]
pub(super) struct Signatures {
    pub(super) publishers: Publishers,
    pub(super) rule: SignatureRule,
}

impl Signatures {
    /// Returns the provenance to record for a component with the SHA-256 `digest`, hexadecimal. Fails if its
    /// signature is not valid for a known publisher.
    pub(super) async fn provenance(&self, digest: &str, origin: &Origin) -> Result<Provenance, ToolkitError> {
        let source = origin.source.as_ref().map(|source| Source::of(source, origin.pulled));
        let source = source.unwrap_or_default();
        let Some(signature) = &origin.signature else {
            // Checked before any part of the component is compiled.
            return match self.rule {
                SignatureRule::Required => Err(ToolkitError::SignatureRequired(None)),
                SignatureRule::Optional => Ok(Provenance { source, signed_by: None }),
            };
        };
        let bytes = hex::decode(digest).ok().and_then(|digest| digest.try_into().ok());
        let digest = bytes.expect("a digest is SHA-256 in hexadecimal");
        let mut keys = self.publishers.keys().await?.into_iter();
        let signed_by = keys.find_map(|(publisher, der)| {
            let key = PublicKey::from_der(&der).ok().filter(|key| key.has_signed(&digest, signature))?;
            Some(SignedBy { publisher, key: key.fingerprint(), removed: false })
        });
        match signed_by {
            Some(_) => Ok(Provenance { source, signed_by }),
            None => Err(ToolkitError::UnknownSignature),
        }
    }
}
