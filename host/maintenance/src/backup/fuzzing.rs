//! Entry points for `fuzz/`.

use super::Manifest;

/// Parses the text of a manifest. Returns the reason if it cannot be used.
pub fn manifest(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text, "2026-11-23T04-26-32Z").map_err(|error| error.to_string())
}
