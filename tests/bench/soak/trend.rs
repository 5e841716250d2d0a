//! Tells what grows without end from what goes up and down, or up once and stays.

use serde::Serialize;

/// How much a quantity may be higher late in a run than in its middle.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Tolerance {
    /// Of the level in the middle.
    pub(crate) share: f64,
    /// In the quantity's own unit, whatever its level is.
    pub(crate) amount: f64,
}

/// What a series of samples comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Trend {
    /// The first sample.
    pub(crate) first: f64,
    /// The level in the second third of the run. The first third is the warm-up: caches fill, and pools.
    pub(crate) middle: f64,
    /// The level in the last third.
    pub(crate) last: f64,
    /// The highest sample.
    pub(crate) peak: f64,
    /// Whether the last level is above the middle one by more than is tolerated.
    pub(crate) grows: bool,
}

/// Samples of a third of a run, below which nothing can be said.
const MIN_SAMPLES: usize = 5;

impl Trend {
    /// Judges samples that were taken at even distances; nothing, where they are too few.
    ///
    /// The level of a third is its lower quartile: what was given back counts, and not how much was in
    /// use at the moment of a sample. What leaks is never given back, so it lifts the lower quartile too.
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
