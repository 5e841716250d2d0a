//! A gzip bomb (RFC 1952, RFC 1951): small on the wire, large for whoever inflates it.

/// How many bytes [`bomb`] stands for.
pub(crate) const BOMB: usize = 1 + MATCHES * LONGEST_MATCH;

const MATCHES: usize = 200_000;
const LONGEST_MATCH: usize = 258;

/// Compresses [`BOMB`] zeros: one zero, and then the longest match again and again. The checksum at
/// the end is not theirs: nobody here is to come that far.
pub(crate) fn bomb() -> Vec<u8> {
    let mut bits = vec![true, true, false]; // The last block; fixed Huffman codes.
    bits.extend(code(0b0011_0000, 8)); // The literal 0.
    for _ in 0..MATCHES {
        bits.extend(code(0b1100_0101, 8)); // Length 258,
        bits.extend(code(0, 5)); // at distance 1.
    }
    bits.extend(code(0, 7)); // The block's end.

    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    header.into_iter().chain(bits.chunks(8).map(byte)).chain([0; 8]).collect()
}

/// Huffman codes are packed from their most significant bit.
fn code(code: u16, length: u32) -> impl Iterator<Item = bool> {
    (0..length).rev().map(move |bit| code >> bit & 1 == 1)
}
