//! Query parameters that select call records.

use jiff::{SignedDuration, Timestamp};
use kitbag_access::Range;
use kitbag_access::values::invocations::Filter;
use serde::Deserialize;

use super::{bad_query, outcome};
use crate::error::WebError;

/// Number of records returned without `limit`.
pub(crate) const DEFAULT_LIMIT: u32 = 100;
/// Maximum value of `limit`.
pub(crate) const MAX_LIMIT: u32 = 1000;

/// Query string of a request for records.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// A time (RFC 3339) or a duration before now: own calls that ended since, and other users' calls that
    /// began since.
    since: Option<String>,
    /// A time or a duration before now: only calls before it.
    until: Option<String>,
    /// Record id; only records after it.
    after: Option<i64>,
    /// Record id; only records before it.
    before: Option<i64>,
    /// Maximum number of records; the newest ones are returned.
    limit: Option<u32>,
    /// Only calls of this tool.
    tool: Option<String>,
    /// Only calls with this outcome; `any-failure` for all failures.
    outcome: Option<String>,
    /// Whether to stream new records.
    #[serde(default)]
    pub(super) follow: bool,
}

impl Parameters {
    /// Defaults to the last 100 records without `since`, `after` and `limit`.
    pub(super) fn range(self) -> Result<Range, WebError> {
        if self.limit.is_some_and(|limit| limit > MAX_LIMIT) {
            return Err(bad_query(format!("limit must be at most {MAX_LIMIT}.")));
        }
        if self.follow && self.before.is_some() {
            return Err(bad_query(
                "before cannot be combined with follow: new records come after all others.",
            ));
        }
        if self.follow && self.until.is_some() {
            return Err(bad_query("until cannot be combined with follow: new records come after it."));
        }
        let since = point_in_time("since", self.since.as_deref())?;
        let until = point_in_time("until", self.until.as_deref())?;
        let is_bounded_otherwise = since.is_some() || self.after.is_some();
        Ok(Range {
            since,
            until,
            after: self.after.unwrap_or_default(),
            before: self.before,
            last: self.limit.or((!is_bounded_otherwise).then_some(DEFAULT_LIMIT)),
            filter: Filter { tool: self.tool, outcome: self.outcome.as_deref().map(outcome).transpose()? },
        })
    }
}

/// Parses the time in an optional parameter; errors name the parameter.
pub(crate) fn point_in_time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, WebError> {
    let time = text.map(|text| {
        time(text, Timestamp::now()).ok_or_else(|| {
            bad_query(format!(
                "{name} must be a time such as 2026-01-31T12:00:00Z, or a duration such as 10m."
            ))
        })
    });
    time.transpose()
}

fn time(text: &str, now: Timestamp) -> Option<Timestamp> {
    text.parse().ok().or_else(|| {
        let ago = SignedDuration::try_from(humantime::parse_duration(text).ok()?).ok()?;
        now.checked_sub(ago).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_point_or_a_distance_from_now() {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().expect("a time");

        for (text, expected) in [
            ("2026-01-31T11:00:00Z", Some("2026-01-31T11:00:00Z")),
            ("2026-01-31T12:00:00+01:00", Some("2026-01-31T11:00:00Z")),
            ("10m", Some("2026-01-31T11:50:00Z")),
            ("1d 1h", Some("2026-01-30T11:00:00Z")),
            ("yesterday", None),
            ("", None),
            ("100000000y", None),
        ] {
            let expected = expected.map(|time| time.parse().expect("a time"));
            assert_eq!(time(text, now), expected, "{text:?}");
        }
    }

    #[test]
    fn without_any_bound_the_last_hundred_are_meant() {
        let range = |parameters: Parameters| parameters.range().expect("it is good");

        assert_eq!(range(Parameters::default()).last, Some(DEFAULT_LIMIT));
        let since = range(Parameters { since: Some("1h".into()), ..Parameters::default() });
        assert_eq!(since.last, None);
        let after = range(Parameters { after: Some(7), limit: Some(3), ..Parameters::default() });
        assert_eq!((after.after, after.last), (7, Some(3)));
        let before = range(Parameters { before: Some(7), ..Parameters::default() });
        assert_eq!((before.before, before.last), (Some(7), Some(DEFAULT_LIMIT)));
        for refused in [
            Parameters { limit: Some(MAX_LIMIT + 1), ..Parameters::default() },
            Parameters { before: Some(7), follow: true, ..Parameters::default() },
            Parameters { until: Some("1h".into()), follow: true, ..Parameters::default() },
            Parameters { until: Some("soon".into()), ..Parameters::default() },
            Parameters { outcome: Some("broken".into()), ..Parameters::default() },
        ] {
            assert!(refused.range().is_err());
        }
    }
}
