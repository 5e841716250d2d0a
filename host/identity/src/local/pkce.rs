//! Proof key for code exchange (RFC 7636), with the method S256 only.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kitbag_base::sha256::{Digest, Sha256};

/// Code challenge: SHA-256 of the code verifier, which the client sends in the token request.
#[derive(Clone, Debug)]
pub(super) struct Challenge(Digest);

impl Challenge {
    /// Parses a `code_challenge`: 43 characters of base64url.
    pub(super) fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// Whether `verifier` is well-formed (section 4.1) and matches the challenge.
    pub(super) fn is_met_by(&self, verifier: &str) -> bool {
        let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        (43..=128).contains(&verifier.len())
            && verifier.bytes().all(unreserved)
            && verify_slices_are_equal(&Sha256::digest(verifier), &self.0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_holds_and_its_neighbours_do_not() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = Challenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap();

        assert!(challenge.is_met_by(verifier));
        assert!(!challenge.is_met_by(&verifier.to_lowercase()));
        assert!(!challenge.is_met_by("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
        assert!(!challenge.is_met_by(""));
        for malformed in ["", "short", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM=", &"A".repeat(44)] {
            assert!(Challenge::parse(malformed).is_none(), "{malformed}");
        }
    }

    #[test]
    fn a_verifier_that_is_too_short_is_not_one_although_its_hash_is_right() {
        let challenge = Challenge(Sha256::digest("short"));

        assert!(!challenge.is_met_by("short"));
    }
}
