//! Rotation that spreads the information of a vector evenly over its numbers, so that their signs are equally
//! informative for every vector.
//!
//! Invariant: the rotation for a given size never changes, because sketches are stored.

/// Rotation for vectors of one size.
#[derive(Clone, Debug, Default)]
pub(super) struct Rotation {
    width: usize,
    /// Signs (1 or −1) of each number in each round.
    signs: Vec<f32>,
}

/// Number of rounds. Each mixes the greatest power of two of numbers that fits: alternately the first and the
/// last ones.
const ROUNDS: usize = 4;

impl Rotation {
    /// Rotation for vectors of `width` numbers.
    pub(super) fn new(width: usize) -> Self {
        let mut seed = 0x6b69_7462_6167_u64;
        let mut sign = || {
            // Marsaglia's xorshift generator.
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            if seed >> 63 == 0 { 1.0 } else { -1.0 }
        };
        Self { width, signs: (0..width * ROUNDS).map(|_| sign()).collect() }
    }

    /// Rotates a vector of this size in place.
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

/// Walsh–Hadamard transform of a power of two of numbers, scaled to be a rotation.
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
