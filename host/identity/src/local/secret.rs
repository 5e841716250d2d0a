//! Random secrets.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Returns `BYTES` random bytes as base64url without padding: four characters per three bytes.
pub fn random_text<const BYTES: usize>() -> String {
    let mut bytes = [0; BYTES];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    URL_SAFE_NO_PAD.encode(bytes)
}
