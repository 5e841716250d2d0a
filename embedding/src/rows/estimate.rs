//! Dot products of one vector with the sign bits of many.

use rten_simd::{Isa, SimdOp};

use super::{FACTORS, LANES, WORD, WORDS};

/// Rotated vector, quantised to [`BITS`] bits, in bit planes.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    /// For each 64 numbers, one bit plane for each bit of the quantised values.
    bits: Vec<[u64; BITS]>,
    /// Smallest number, which is quantised to 0.
    least: f32,
    step: f32,
    /// Sum of all numbers.
    sum: f32,
}

/// Bits per quantised number: the rounding error is far below that of the sketches.
const BITS: usize = 4;
const MAX_STEPS: f32 = 15.0;

impl Planes {
    pub(super) fn new(rotated: &[f32]) -> Self {
        let (least, greatest) = rotated.iter().fold((f32::MAX, f32::MIN), |(least, greatest), number| {
            (least.min(*number), greatest.max(*number))
        });
        let step = (greatest - least) / MAX_STEPS;
        let step = if step > 0.0 && step.is_finite() { step } else { 1.0 };
        let least = if least.is_finite() { least } else { 0.0 };
        let mut sum = 0.0;
        let bits = rotated.chunks(WORD).map(|numbers| {
            let mut bits = [0; BITS];
            for (place, number) in numbers.iter().enumerate() {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 15")]
                let steps = ((number - least) / step).round().clamp(0.0, MAX_STEPS) as u64;
                for (bit, plane) in bits.iter_mut().enumerate() {
                    *plane |= (steps >> bit & 1) << place;
                }
                #[expect(clippy::cast_precision_loss, reason = "from 0 to 15")]
                let rounded = least + step * steps as f32;
                sum += rounded;
            }
            bits
        });
        Self { bits: bits.collect(), least, step, sum }
    }
}

/// Estimates the products with rows that have these sketches and factors.
pub(super) fn estimate(planes: &Planes, sketches: &[u8], factors: &[u8], estimates: &mut [f32]) {
    Estimator { planes, sketches, factors, out: estimates }.dispatch();
}

/// Dispatched, to be compiled for the instruction set of the processor.
struct Estimator<'a> {
    planes: &'a Planes,
    sketches: &'a [u8],
    factors: &'a [u8],
    out: &'a mut [f32],
}

impl SimdOp for Estimator<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for these instructions")]
    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let Planes { bits, least, step, sum } = self.planes;
        let groups = self.sketches.chunks_exact(bits.len().max(1) * WORDS);
        let factors = self.factors.chunks(LANES * FACTORS);
        for ((estimates, group), factors) in self.out.chunks_mut(LANES).zip(groups).zip(factors) {
            let sums = sums(bits, group);
            for ((estimate, factors), steps) in estimates.iter_mut().zip(factors.as_chunks().0).zip(sums) {
                let factors: &[u8; FACTORS] = factors;
                let (numbers, _) = factors.as_chunks::<{ size_of::<f32>() }>();
                let [factor, ones] = [0, 1].map(|number| f32::from_le_bytes(numbers[number]));
                // Sum of the numbers with a positive sign bit, minus the sum of the others.
                *estimate = factor * (2.0 * (least * ones + step * steps) - sum);
            }
        }
    }
}

/// Sums of the quantised numbers at the 1 bits of each row.
#[expect(clippy::inline_always, reason = "only what is inlined is compiled for these instructions")]
#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "a vector has at most some thousand numbers of 4 bits")]
fn sums(bits: &[[u64; BITS]], group: &[u8]) -> [f32; LANES] {
    let mut sums = [0_u64; LANES];
    let (words, _) = group.as_chunks::<WORDS>();
    for (word, planes) in words.iter().zip(bits) {
        let (lanes, _) = word.as_chunks::<{ size_of::<u64>() }>();
        for (bit, plane) in planes.iter().enumerate() {
            for (sum, lane) in sums.iter_mut().zip(lanes) {
                *sum += u64::from((u64::from_le_bytes(*lane) & plane).count_ones()) << bit;
            }
        }
    }
    sums.map(|sum| sum as f32)
}
