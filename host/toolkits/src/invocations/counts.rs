//! Counts of calls of each toolkit by the hour, which outlive the records of the calls.
//!
//! Of other users' calls, only what their records show anyway is counted: the hour in which a call began, its
//! outcome, and the range of its duration (`latency`).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::latency::{Histogram, Latency, RANGES};
use super::record::{Outcome, Record};
use super::usage::HOUR_MS;

/// Number of days for which counts are stored, including the current one.
pub(super) const DAYS: i64 = 30;
pub(super) const DAY_HOURS: i64 = 24;

/// Period of an overview, up to now. Hours and days are in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// The last twenty-four hours, including the current one.
    Day,
    /// The last thirty days, including the current one.
    ThirtyDays,
}

/// Counts of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Number of calls.
    pub calls: u64,
    /// Number of calls without a result, except those that their client cancelled.
    pub failures: u64,
    /// Number of failed calls that did not run: their arguments were wrong, too many calls were running, a
    /// limit was reached, or their user had to agree first.
    pub refused: u64,
    /// Durations of the calls that ran.
    pub(super) durations: Histogram,
}

/// Counts of one toolkit's calls in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolkitCounts {
    /// Counts of each interval, oldest first; empty if there were no calls.
    pub intervals: Vec<CallCounts>,
    /// Number of users who have called the toolkit.
    pub users: u64,
}

/// Counts of the calls of all toolkits in a period.
#[derive(Clone, Debug)]
pub struct Counts {
    /// The period.
    pub period: Period,
    /// Start of the period.
    pub from: Timestamp,
    /// Number of users who have called anything.
    pub users: u64,
    /// Time from which users are counted: later than `from` if records are stored for a shorter time.
    pub users_from: Timestamp,
    /// Counts by toolkit id, without toolkits that were not called.
    pub toolkits: BTreeMap<String, ToolkitCounts>,
}

impl Period {
    /// Returns the period of this number of days.
    pub fn of_days(days: u32) -> Option<Self> {
        [Self::Day, Self::ThirtyDays].into_iter().find(|period| period.days() == days)
    }

    /// Returns the number of days.
    pub fn days(self) -> u32 {
        match self {
            Self::Day => 1,
            Self::ThirtyDays => 30,
        }
    }

    /// Returns the number of intervals.
    pub fn intervals(self) -> usize {
        match self {
            Self::Day => 24,
            Self::ThirtyDays => 30,
        }
    }

    /// Returns the number of hours per interval.
    pub fn interval_hours(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::ThirtyDays => DAY_HOURS,
        }
    }

    /// Returns the first hour of the period that ends now, in hours since 1970.
    pub(super) fn first_hour(self, now: Timestamp) -> i64 {
        let hour = hour_of(now);
        match self {
            Self::Day => hour - (DAY_HOURS - 1),
            Self::ThirtyDays => hour - hour.rem_euclid(DAY_HOURS) - (DAYS - 1) * DAY_HOURS,
        }
    }
}

impl CallCounts {
    pub(super) fn count(&mut self, record: &Record) {
        let outcome = record.conclusion.outcome;
        let is_refused = Outcome::REFUSED.contains(&outcome);
        self.calls += 1;
        self.failures += u64::from(outcome.is_failure());
        self.refused += u64::from(is_refused);
        if !is_refused && outcome != Outcome::Interrupted {
            self.durations.count(record.duration);
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failures = self.failures.saturating_add(other.failures);
        self.refused = self.refused.saturating_add(other.refused);
        self.durations.add(&other.durations);
    }

    /// Returns the sum of counts.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|counts| sum.add(counts));
        sum
    }

    /// Returns the duration within which this percentage of the calls that ran ended.
    pub fn percentile(&self, percent: u64) -> Option<Latency> {
        self.durations.percentile(percent)
    }

    /// Returns the numbers in the order of the database columns.
    pub(super) fn columns(&self) -> [u64; 3 + RANGES] {
        let mut columns = [0; 3 + RANGES];
        columns[..3].copy_from_slice(&[self.calls, self.failures, self.refused]);
        columns[3..].copy_from_slice(&self.durations.0);
        columns
    }

    pub(super) fn of_columns(columns: [u64; 3 + RANGES]) -> Self {
        let [calls, failures, refused, durations @ ..] = columns;
        Self { calls, failures, refused, durations: Histogram(durations) }
    }
}

/// Returns the hour of a time, in hours since 1970.
pub(super) fn hour_of(time: Timestamp) -> i64 {
    time.as_millisecond().div_euclid(HOUR_MS)
}

/// Returns the start of an hour.
pub(super) fn begin_of(hour: i64) -> Timestamp {
    Timestamp::from_millisecond(hour.saturating_mul(HOUR_MS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::invocations::tests::record;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_period_has_whole_hours_or_days_and_ends_with_the_current_one() {
        let now = time("2026-03-01T12:34:56Z");

        let from = |period: Period| begin_of(period.first_hour(now)).to_string();

        assert_eq!(from(Period::Day), "2026-02-28T13:00:00Z");
        assert_eq!(from(Period::ThirtyDays), "2026-01-31T00:00:00Z");
        for period in [Period::Day, Period::ThirtyDays] {
            let hours = hour_of(now) - period.first_hour(now);
            let last = usize::try_from(hours / period.interval_hours()).expect("not negative");
            assert_eq!(last, period.intervals() - 1);
            assert_eq!(Period::of_days(period.days()), Some(period));
        }
        assert_eq!(Period::of_days(7), None);
    }

    #[test]
    fn refused_and_interrupted_calls_are_failures_without_a_duration_and_cancelled_ones_are_none() {
        let mut counts = CallCounts::default();
        for outcome in Outcome::ALL {
            let duration = Duration::from_millis(40);
            counts.count(&Record { duration, conclusion: outcome.into(), ..record("a", "ana", "") });
        }

        assert_eq!((counts.calls, counts.failures, counts.refused), (15, 12, 5));
        assert_eq!(
            counts.durations.0.iter().sum::<u64>(),
            9,
            "nobody knows how long an interrupted one took"
        );
        assert_eq!(CallCounts::of_columns(counts.columns()), counts);
        let twice = CallCounts::sum([&counts, &counts]);
        assert_eq!((twice.calls, twice.failures, twice.durations.0[2]), (30, 24, 18));
    }
}
