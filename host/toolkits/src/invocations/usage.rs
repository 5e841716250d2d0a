//! Use of toolkits in the last day: calls and failures of one toolkit by the hour, and the toolkits with
//! failures.
//!
//! Of other users' calls, only what their records show anyway is counted: that a call took place, its hour
//! and its outcome. No sum includes a number that a toolkit can choose, so the counts need no ranges.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::reading::Scope;
use super::store::{Count, FailingCount};

/// Number of counted hours, including the current one.
pub(super) const HOURS: i64 = 24;
pub(super) const HOUR_MS: i64 = 60 * 60 * 1000;

/// Counts of the calls of the last day that have a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The users whose calls were counted.
    pub scope: Scope,
    /// Number of calls in all hours.
    pub calls: u64,
    /// Number of calls in all hours without a result, except those that their client cancelled.
    pub failures: u64,
    /// Counts of each hour, oldest first; the last is the current hour.
    pub hours: Vec<Hour>,
}

/// Counts of the calls that began in one hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hour {
    /// Start of the hour: RFC 3339, UTC.
    pub from: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls without a result, except those that their client cancelled.
    pub failures: u64,
}

/// A toolkit with failed calls in the last day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failing {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Number of calls of all users.
    pub calls: u64,
    /// Number of calls without a result, except those that their client cancelled.
    pub failures: u64,
}

impl From<FailingCount> for Failing {
    fn from(FailingCount { toolkit_id, calls, failures }: FailingCount) -> Self {
        Self { toolkit: toolkit_id, calls: number(calls), failures: number(failures) }
    }
}

/// Returns the start of the first hour that is counted at the time `now`.
pub(super) fn first_hour(now: Timestamp) -> Timestamp {
    let now = now.as_millisecond();
    let current = now - now.rem_euclid(HOUR_MS);
    Timestamp::from_millisecond(current - (HOURS - 1) * HOUR_MS).unwrap_or_default()
}

impl Usage {
    /// Creates the usage of the hours from `first` on; hours without a count had no calls.
    pub(super) fn new(scope: Scope, first: Timestamp, counts: &[Count]) -> Self {
        let hour = |hour: i64| {
            let count = counts.iter().find(|count| count.hour == hour);
            Hour {
                from: (first + SignedDuration::from_hours(hour)).to_string(),
                calls: count.map_or(0, |count| number(count.calls)),
                failures: count.map_or(0, |count| number(count.failures)),
            }
        };
        let hours: Vec<_> = (0..HOURS).map(hour).collect();
        let (calls, failures) =
            hours.iter().fold((0, 0), |(calls, failures), it| (calls + it.calls, failures + it.failures));
        Self { scope, calls, failures, hours }
    }
}

/// Converts a count, which is never negative.
fn number(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_an_entry_for_each_hour_up_to_the_current_one() {
        let now: Timestamp = "2026-01-31T12:34:56Z".parse().expect("a time");
        let first = first_hour(now);

        let counts = [Count { hour: 1, calls: 5, failures: 2 }, Count { hour: 23, calls: 1, failures: 0 }];
        let usage = Usage::new(Scope::Own, first, &counts);

        assert_eq!((usage.hours.len(), usage.calls, usage.failures), (24, 6, 2));
        assert_eq!(usage.hours[0], Hour { from: "2026-01-30T13:00:00Z".to_owned(), calls: 0, failures: 0 });
        assert_eq!((usage.hours[1].calls, usage.hours[1].failures), (5, 2));
        assert_eq!(usage.hours[23], Hour { from: "2026-01-31T12:00:00Z".to_owned(), calls: 1, failures: 0 });
    }
}
