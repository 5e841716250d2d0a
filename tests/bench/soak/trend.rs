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
pub(crate) const MIN_SAMPLES: usize = 5;

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

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Tolerance = Tolerance { share: 0.1, amount: 20.0 };

    /// A thousand samples of a quantity.
    fn grows(quantity: impl Fn(f64) -> f64) -> bool {
        let samples: Vec<_> = (0..1000).map(|at| quantity(f64::from(at))).collect();
        Trend::of(&samples, TOLERANCE).expect("there are enough samples").grows
    }

    /// Between 0 and 1, the same in every run.
    fn noise(at: f64) -> f64 {
        (at * 12.9898).sin().abs()
    }

    #[test]
    fn what_grows_with_every_call_is_found() {
        assert!(grows(|at| 500.0 + at));
        assert!(grows(|at| 500.0 + at * 0.2 + 300.0 * noise(at)));
        assert!(grows(|at| 500.0 + at.powi(2) / 5000.0));
    }

    #[test]
    fn what_grows_in_steps_is_found() {
        assert!(grows(|at| 500.0 + 60.0 * (at / 100.0).floor()));
    }

    #[test]
    fn what_grows_below_a_sawtooth_is_found() {
        assert!(grows(|at| 500.0 + at % 50.0 * 10.0 + at * 0.3));
    }

    #[test]
    fn what_stays_does_not_grow() {
        assert!(!grows(|_| 500.0));
        assert!(!grows(|at| 500.0 + 400.0 * noise(at)));
        assert!(!grows(|_| 0.0));
    }

    #[test]
    fn a_sawtooth_does_not_grow() {
        for teeth in [20.0, 77.0, 150.0] {
            assert!(!grows(|at| 500.0 + at % teeth * 5.0), "{teeth}");
        }
    }

    #[test]
    fn what_grows_at_first_and_then_stays_does_not_grow() {
        assert!(!grows(|at| 500.0 + at.min(300.0) * 5.0));
        assert!(!grows(|at| 500.0 + 1000.0 * (1.0 - (-at / 80.0).exp())));
    }

    #[test]
    fn what_shrinks_does_not_grow() {
        assert!(!grows(|at| 2000.0 - at));
    }

    #[test]
    fn a_peak_at_the_end_is_no_growth_and_is_reported() {
        let mut samples = vec![500.0; 1000];
        samples[990] = 9000.0;

        let trend = Trend::of(&samples, TOLERANCE).expect("there are enough samples");

        assert!(!trend.grows && trend.peak == 9000.0, "{trend:?}");
    }

    #[test]
    fn small_quantities_may_grow_by_the_amount_and_no_more() {
        assert!(!grows(|at| if at < 600.0 { 10.0 } else { 29.0 }));
        assert!(grows(|at| if at < 600.0 { 10.0 } else { 31.0 }));
    }

    #[test]
    fn too_few_samples_say_nothing() {
        assert_eq!(Trend::of(&[1.0; 14], TOLERANCE), None);
        assert!(Trend::of(&[1.0; 15], TOLERANCE).is_some());
    }
}
