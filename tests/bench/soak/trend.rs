//! Distinguishes unbounded growth from values that fluctuate, or rise once and stay.

use serde::Serialize;

/// Tolerated increase of a quantity from the middle of a run to its end.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Tolerance {
    /// Fraction of the level in the middle.
    pub(crate) share: f64,
    /// Absolute amount in the quantity's unit.
    pub(crate) amount: f64,
}

/// Trend of a series of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Trend {
    /// The first sample.
    pub(crate) first: f64,
    /// The level in the second third of the run. The first third is the warm-up: caches and pools fill.
    pub(crate) middle: f64,
    /// The level in the last third.
    pub(crate) last: f64,
    /// The highest sample.
    pub(crate) peak: f64,
    /// Whether the last level is above the middle one by more than is tolerated.
    pub(crate) grows: bool,
}

/// Minimum number of samples in a third of a run.
const MIN_SAMPLES: usize = 5;

impl Trend {
    /// Evaluates samples taken at equal intervals; `None` if there are too few.
    ///
    /// The level of a third is its lower quartile, which ignores short peaks in some samples. A leak is never
    /// released, so it raises the lower quartile too.
    pub(crate) fn of(samples: &[f64], tolerance: Tolerance) -> Option<Self> {
        let third = samples.len() / 3;
        if third < MIN_SAMPLES {
            return None;
        }
        let (rest, late) = samples.split_at(samples.len() - third);
        let middle = lower_quartile(&rest[rest.len() - third..]);
        let last = lower_quartile(late);
        let tolerated = (middle * tolerance.share).max(tolerance.amount);
        let peak = samples.iter().copied().fold(f64::MIN, f64::max);
        Some(Self { first: samples[0], middle, last, peak, grows: last - middle > tolerated })
    }
}

fn lower_quartile(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 4]
}
