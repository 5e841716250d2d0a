//! Entry points for `fuzz/`.

use super::Manifest;

/// Reads the text of a manifest, or says why it cannot be used.
pub fn manifest(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text, "2026-11-23T04-26-32Z").map_err(|error| error.to_string())
}
