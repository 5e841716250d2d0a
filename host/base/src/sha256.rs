//! SHA-256, by the only crypto library in use (decision 0001).

use std::io;

use aws_lc_rs::digest::{Context, SHA256};

/// SHA-256 hash.
pub type Digest = [u8; 32];

/// Incremental hash.
pub struct Sha256(Context);

impl Default for Sha256 {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Sha256 {
    /// Creates a hash of no bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the hash of the given bytes.
    pub fn digest(bytes: impl AsRef<[u8]>) -> Digest {
        let mut hasher = Self::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes.as_ref());
    }

    /// Returns the hash of all added bytes.
    pub fn finish(self) -> Digest {
        self.0.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

impl io::Write for Sha256 {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_hash_of_the_whole() {
        let mut pieces = Sha256::new();
        pieces.update("a");
        io::Write::write_all(&mut pieces, b"bc").expect("it takes everything");

        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex::encode(pieces.finish()), expected);
        assert_eq!(hex::encode(Sha256::digest("abc")), expected);
    }
}
