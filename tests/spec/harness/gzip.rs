//! Decompression bombs (RFC 1950 to 1952).

/// Decompressed size of [`bomb`].
pub(crate) const BOMB_BYTES: usize = 1 + MATCHES * MAX_MATCH_BYTES;

/// Decompressed size of the longest match of DEFLATE.
pub(crate) const MAX_MATCH_BYTES: usize = 258;

const MATCHES: usize = 200_000;

/// Compresses [`BOMB_BYTES`] zeros: one literal zero, then the longest match again and again. The
/// checksum at the end is wrong: no reader is supposed to get that far.
pub(crate) fn bomb() -> Vec<u8> {
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    header.into_iter().chain(deflated(0, MATCHES)).chain([0; 8]).collect()
}

/// Compresses `literal`, which must be below 144, and `matches` longest matches of it, as zlib.
pub(crate) fn zlib(literal: u8, matches: usize) -> Vec<u8> {
    let checksum = adler32(literal, 1 + 258 * matches as u64).to_be_bytes();
    [0x78, 0x9c].into_iter().chain(deflated(literal, matches)).chain(checksum).collect()
}

/// Adler-32 (RFC 1950, section 9) of a byte that is repeated.
fn adler32(byte: u8, times: u64) -> u32 {
    const MODULUS: u128 = 65521;

    let [byte, times] = [u128::from(byte), u128::from(times)];
    let sum = (1 + byte * times) % MODULUS;
    let sum_of_sums = (times + byte * times * (times + 1) / 2) % MODULUS;
    u32::try_from(sum_of_sums << 16 | sum).expect("two times 16 bits")
}

/// One block with fixed Huffman codes.
fn deflated(literal: u8, matches: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.number(0b011, 3); // The last block; fixed Huffman codes.
    bits.code(0b0011_0000 + u32::from(literal), 8);
    for _ in 0..matches {
        bits.code(0b1100_0101, 8); // Length 258,
        bits.code(0, 5); // at distance 1.
    }
    bits.code(0, 7); // The block's end.
    bits.bytes.push(bits.open);
    bits.bytes
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    open: u8,
    used: u32,
}

impl Bits {
    /// Numbers are packed from their least significant bit.
    fn number(&mut self, number: u32, length: u32) {
        (0..length).for_each(|bit| self.bit(number >> bit & 1 == 1));
    }

    /// Huffman codes are packed from their most significant bit.
    fn code(&mut self, code: u32, length: u32) {
        (0..length).rev().for_each(|bit| self.bit(code >> bit & 1 == 1));
    }

    fn bit(&mut self, bit: bool) {
        self.open |= u8::from(bit) << self.used;
        self.used += 1;
        if self.used == 8 {
            self.bytes.push(self.open);
            (self.open, self.used) = (0, 0);
        }
    }
}
