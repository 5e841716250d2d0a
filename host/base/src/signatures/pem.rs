//! Parser of PEM sections (RFC 7468). The PEM crates in use read only the sections that TLS needs.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::zeroize::Zeroizing;

/// A decoded section.
pub(super) struct Section<'a> {
    /// Label, such as `PUBLIC KEY`.
    pub(super) label: &'a str,
    pub(super) content: Zeroizing<Vec<u8>>,
}

/// Returns all sections of a text that can be decoded; skips everything else.
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
