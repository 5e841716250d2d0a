//! The part of other users' calls that operators, and owners of private toolkits, may see.
//!
//! A toolkit controls how long it runs, and how much it sends, returns and logs, so it could encode its
//! caller's secrets in exact numbers (a covert channel). So [`OperatorView`] has only ranges ([`AtMost`]).

use std::time::Duration;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::logged::{Amount, Facts};
use super::record::Through;
use super::store::Row;

/// The fact that a call took place, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorView {
    id: i64,
    toolkit: String,
    version: String,
    tool: String,
    user: String,
    #[serde(flatten)]
    through: Through,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    /// Rounded down to the second: if a client calls again at once after each reply, exact times would reveal
    /// the exact durations.
    #[serde(serialize_with = "as_text")]
    started_at: Timestamp,
    /// Absent if nobody knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<AtMost>,
    outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    requests: AtMost,
    bytes_out: AtMost,
    bytes_in: AtMost,
    result_size: AtMost,
    /// Whether log entries were dropped; the number is not shown.
    is_log_cut: bool,
}

/// Upper bound of the range of a number. There are few ranges, so it reveals little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AtMost {
    at_most: u64,
}

impl AtMost {
    /// Range of a count: 0, or up to 10, 100, 1,000 and so on.
    fn count(count: u64) -> Self {
        Self::range(count, 10, 10)
    }

    /// Range of a size in bytes: 0, or up to 64 KiB, 64 MiB, 64 GiB and so on.
    pub(super) fn bytes(bytes: u64) -> Self {
        Self::range(bytes, 64 << 10, 1 << 10)
    }

    /// Range of a duration in milliseconds: up to 100, 1,000, 10,000 and so on.
    pub fn milliseconds(duration: Duration) -> Self {
        let milliseconds = u64::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
        Self::range(milliseconds.max(1), 100, 10)
    }

    fn range(number: u64, first: u64, factor: u64) -> Self {
        let mut at_most = if number == 0 { 0 } else { first };
        while at_most < number {
            at_most = at_most.saturating_mul(factor);
        }
        Self { at_most }
    }

    /// Returns the upper bound.
    pub fn get(self) -> u64 {
        self.at_most
    }
}

impl From<Row> for OperatorView {
    fn from(row: Row) -> Self {
        // The columns are never negative.
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        let duration_ms =
            row.known_duration().map(|micros| AtMost::milliseconds(Duration::from_micros(number(micros))));
        Self {
            id: row.id,
            toolkit: row.toolkit_id,
            version: row.version,
            tool: row.tool,
            user: row.user_id,
            through: row.through,
            account: row.account,
            started_at: second(row.started_at),
            duration_ms,
            outcome: row.outcome,
            limit: row.limit_hit,
            requests: AtMost::count(number(row.requests)),
            bytes_out: AtMost::bytes(number(row.bytes_out)),
            bytes_in: AtMost::bytes(number(row.bytes_in)),
            result_size: AtMost::bytes(number(row.result_size)),
            is_log_cut: row.dropped > 0,
        }
    }
}

impl OperatorView {
    /// Removes what identifies the key of a program.
    pub(super) fn hide_key(&mut self) {
        self.through = std::mem::take(&mut self.through).without_key();
    }

    /// Returns the part of the record that every reader may see.
    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            id: self.id,
            toolkit: &self.toolkit,
            tool: &self.tool,
            version: &self.version,
            user: &self.user,
            through: &self.through,
            account: self.account.as_deref(),
            started_at: self.started_at,
            duration: self.duration_ms.map(Amount::of_milliseconds),
            outcome: &self.outcome,
            limit: self.limit.as_deref(),
            requests: self.requests.into(),
            bytes_out: self.bytes_out.into(),
            bytes_in: self.bytes_in.into(),
            result_size: self.result_size.into(),
            is_log_cut: self.is_log_cut,
        }
    }
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Rounds a time, in milliseconds since 1970, down to the second.
fn second(milliseconds: i64) -> Timestamp {
    Timestamp::from_second(milliseconds.div_euclid(1000)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fall_into_few_ranges() {
        for (number, at_most) in [(0, 0), (1, 10), (10, 10), (11, 100), (200, 1000), (u64::MAX, u64::MAX)] {
            assert_eq!(AtMost::count(number).get(), at_most);
        }
        for (bytes, at_most) in [(0, 0), (1, 64 << 10), (64 << 10, 64 << 10), ((64 << 10) + 1, 64 << 20)] {
            assert_eq!(AtMost::bytes(bytes).get(), at_most);
        }
        for (micros, at_most) in [(0, 100), (1, 100), (100_000, 100), (100_001, 1000), (29_000_000, 100_000)]
        {
            assert_eq!(AtMost::milliseconds(Duration::from_micros(micros)).get(), at_most);
        }
    }

    #[test]
    fn a_time_is_told_to_the_second() {
        assert_eq!(second(1_999).to_string(), "1970-01-01T00:00:01Z");
        assert_eq!(second(-1).to_string(), "1969-12-31T23:59:59Z");
    }
}
