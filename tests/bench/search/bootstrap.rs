//! Means over queries, with confidence intervals.

use crate::stats::percentile;

/// Arithmetic mean; 0 if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// 95 % confidence interval of the mean, by the bootstrap with 10,000 resamples. The resamples are the same
/// in every run.
pub(crate) fn mean_interval(values: &[f64]) -> [f64; 2] {
    const SAMPLES: usize = 10_000;

    let mut random = SplitMix(1);
    let mut means: Vec<_> = (0..SAMPLES)
        .map(|_| {
            let drawn: f64 = values.iter().map(|_| values[random.below(values.len())]).sum();
            drawn / values.len().max(1) as f64
        })
        .collect();
    [0.025, 0.975].map(|share| percentile(&mut means, share).unwrap_or_default())
}

/// `SplitMix64` pseudorandom number generator (Steele, Lea and Flood 2014).
struct SplitMix(u64);

impl SplitMix {
    /// Returns a number from 0 to below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let share = u128::from(mixed ^ (mixed >> 31)) * limit as u128;
        usize::try_from(share >> 64).expect("it is below `limit`")
    }
}
