//! A rotation that spreads what a vector has over all of its numbers, so that the signs of these say as much of each vector.
//!
//! Sketches are stored, so a rotation of a size never changes.

/// A rotation of vectors of one size.
#[derive(Clone, Debug, Default)]
pub(super) struct Rotation {
    width: usize,
    /// 1 or −1 for each number, for each round.
    signs: Vec<f32>,
}

/// Each mixes as many numbers as the greatest power of two that fits: those from the first on, and those up to the last, in turn.
const ROUNDS: usize = 4;

impl Rotation {
    /// That of vectors of `width` numbers.
    pub(super) fn new(width: usize) -> Self {
        let mut seed = 0x6b69_7462_6167_u64;
        let mut sign = || {
            // Pseudorandom: Marsaglia's xorshift.
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            if seed >> 63 == 0 { 1.0 } else { -1.0 }
        };
        Self { width, signs: (0..width * ROUNDS).map(|_| sign()).collect() }
    }

    /// Rotates a vector of this size.
    pub(super) fn apply(&self, numbers: &mut [f32]) {
        if self.width == 0 {
            return;
        }
        let mixed = 1 << self.width.ilog2();
        for (round, signs) in self.signs.chunks_exact(self.width).enumerate() {
            for (number, sign) in numbers.iter_mut().zip(signs) {
                *number *= sign;
            }
            let first = if round.is_multiple_of(2) { 0 } else { self.width - mixed };
            mix(&mut numbers[first..first + mixed]);
        }
    }
}

/// The Walsh–Hadamard transform of as many numbers as a power of two, scaled to be a rotation.
fn mix(numbers: &mut [f32]) {
    let mut half = 1;
    while half < numbers.len() {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (first, second) = pair.split_at_mut(half);
            for (first, second) in first.iter_mut().zip(second) {
                (*first, *second) = (*first + *second, *first - *second);
            }
        }
        half *= 2;
    }
    #[expect(clippy::cast_precision_loss, reason = "vectors have far fewer than 2^23 numbers")]
    let scale = (numbers.len() as f32).sqrt().recip();
    for number in numbers {
        *number *= scale;
    }
}
