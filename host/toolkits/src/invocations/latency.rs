//! Durations of calls: counts in fixed ranges, and percentiles, which are no more exact than these ranges.
//!
//! A toolkit chooses the durations of its calls (see `operator_view`). So a percentile of few calls is
//! reported in the coarse ranges of their records, and one of more calls in finer ranges.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::operator_view::AtMost;

/// Upper bounds of the ranges in milliseconds. The last range has none.
const BOUNDS_MS: [u64; RANGES - 1] = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];
/// Number of ranges.
pub const RANGES: usize = 12;
/// Number of calls from which on a percentile is reported in these ranges.
const MIN_CALLS: u64 = 10;
/// Largest bound that is also a bound of the ranges of records.
const MAX_COARSE_MS: u64 = 10_000;

/// Number of calls by range of their duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram(pub(super) [u64; RANGES]);

/// A percentile of the durations of calls, as the bound of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Latency {
    /// At most this number of milliseconds.
    AtMostMs(u64),
    /// More than this number of milliseconds.
    OverMs(u64),
}

impl Histogram {
    pub(super) fn count(&mut self, duration: Duration) {
        let range = BOUNDS_MS.partition_point(|bound| Duration::from_millis(*bound) < duration);
        self.0[range] += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// Returns the duration within which this percentage of the calls ended; `None` if there were none.
    pub(super) fn percentile(&self, percent: u64) -> Option<Latency> {
        let total = self.0.iter().fold(0, |total: u64, count| total.saturating_add(*count));
        let rank = total.saturating_mul(percent).div_ceil(100).max(1);
        let up_to = self.0.iter().scan(0, |sum: &mut u64, count| {
            *sum = sum.saturating_add(*count);
            Some(*sum)
        });
        let range = up_to.take_while(|count| *count < rank).count();
        if total == 0 {
            return None;
        }
        let latency = BOUNDS_MS.get(range).map_or(Latency::LONGEST, |bound| Latency::AtMostMs(*bound));
        Some(if total < MIN_CALLS { latency.coarse() } else { latency })
    }
}

impl Latency {
    /// The last range, which has no upper bound.
    const LONGEST: Self = Self::OverMs(BOUNDS_MS[RANGES - 2]);

    /// Converts the value to the ranges of records.
    fn coarse(self) -> Self {
        match self {
            Self::AtMostMs(bound) if bound <= MAX_COARSE_MS => {
                Self::AtMostMs(AtMost::milliseconds(Duration::from_millis(bound)).get())
            }
            Self::AtMostMs(_) | Self::OverMs(_) => Self::OverMs(MAX_COARSE_MS),
        }
    }

    /// Returns the index of the range that this is the upper end of, below [`RANGES`], for charts.
    pub fn range(self) -> usize {
        match self {
            Self::AtMostMs(bound) => BOUNDS_MS.partition_point(|it| *it < bound),
            Self::OverMs(_) => RANGES - 1,
        }
    }
}

impl fmt::Display for Latency {
    /// Formats the value for people: `25 ms`, `2.5 s`, `over 30 s`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, bound) = match *self {
            Self::AtMostMs(bound) => ("", bound),
            Self::OverMs(bound) => ("over ", bound),
        };
        let text = match (bound / 1000, bound % 1000 / 100) {
            (0, _) => format!("{before}{bound} ms"),
            (seconds, 0) => format!("{before}{seconds} s"),
            (seconds, tenths) => format!("{before}{seconds}.{tenths} s"),
        };
        out.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for it in milliseconds {
            histogram.count(Duration::from_millis(*it));
        }
        histogram
    }

    #[test]
    fn a_duration_is_in_the_range_that_ends_with_it() {
        let histogram = of(&[0, 10, 11, 30_000, 30_001, 1_000_000]);

        assert_eq!(histogram.0, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        let mut just_over = Histogram::default();
        just_over.count(Duration::from_micros(10_001));
        assert_eq!(just_over.0[1], 1);
    }

    #[test]
    fn percentiles_are_bounds_of_ranges() {
        let mut calls = vec![20; 94];
        calls.extend([300; 5]);
        calls.push(60_000);
        let histogram = of(&calls);

        assert_eq!(histogram.percentile(50), Some(Latency::AtMostMs(25)));
        assert_eq!(histogram.percentile(94), Some(Latency::AtMostMs(25)));
        assert_eq!(histogram.percentile(95), Some(Latency::AtMostMs(500)));
        assert_eq!(histogram.percentile(100), Some(Latency::OverMs(30_000)));
        assert_eq!(Histogram::default().percentile(50), None);
    }

    #[test]
    fn of_few_calls_no_more_is_told_than_by_their_records() {
        for took in [0, 7, 40, 100, 101, 400, 1_000, 3_000, 9_000, 10_000] {
            let record = AtMost::milliseconds(Duration::from_millis(took)).get();
            for calls in 1..MIN_CALLS {
                let few = of(&vec![took; usize::try_from(calls).expect("few")]);
                assert_eq!(few.percentile(95), Some(Latency::AtMostMs(record)), "{calls} calls of {took} ms");
            }
        }
        for took in [10_001, 30_000, 30_001, 100_001] {
            assert_eq!(of(&[took]).percentile(50), Some(Latency::OverMs(10_000)));
        }
        assert_eq!(of(&[40; 10]).percentile(95), Some(Latency::AtMostMs(50)));
    }

    #[test]
    fn what_does_not_fit_into_a_number_is_not_counted_on() {
        let mut full = Histogram([u64::MAX; RANGES]);
        full.add(&Histogram([1; RANGES]));

        assert_eq!(full.0, [u64::MAX; RANGES]);
        assert!(full.percentile(95).is_some());
    }

    #[test]
    fn a_latency_is_for_people_and_for_charts() {
        let shown = |latency: Latency| latency.to_string();
        assert_eq!(shown(Latency::AtMostMs(25)), "25 ms");
        assert_eq!(shown(Latency::AtMostMs(2_500)), "2.5 s");
        assert_eq!(shown(Latency::AtMostMs(10_000)), "10 s");
        assert_eq!(shown(Latency::LONGEST), "over 30 s");
        let ranges = [Latency::AtMostMs(10), Latency::AtMostMs(30_000), Latency::LONGEST].map(Latency::range);
        assert_eq!(ranges, [0, 10, 11]);
        assert_eq!(Latency::OverMs(10_000).range(), 11);
    }
}
