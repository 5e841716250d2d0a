//! Sections of PEM (RFC 7468), of which the crates here read only those of TLS.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::zeroize::Zeroizing;

/// A section, decoded.
pub(super) struct Section<'a> {
    /// Such as `PUBLIC KEY`.
    pub(super) label: &'a str,
    pub(super) content: Zeroizing<Vec<u8>>,
}

/// All sections of a text that can be decoded; whatever is between them is passed over.
pub(super) fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, body)) = after.split_once("-----") else { break };
        let end = format!("-----END {label}-----");
        let Some((body, after)) = body.split_once(&end) else { break };
        let encoded: Zeroizing<String> =
            Zeroizing::new(body.chars().filter(|letter| !letter.is_ascii_whitespace()).collect());
        if let Ok(content) = BASE64_STANDARD.decode(encoded.as_bytes()) {
            sections.push(Section { label, content: Zeroizing::new(content) });
        }
        rest = after;
    }
    sections
}
