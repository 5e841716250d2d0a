//! Counts calls that have limits, in the database for all processes together.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::Database;
use kitbag_identity::Subject;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::audience::{Grant, Limited};
use super::store::{CountStore, keys};

/// Interval in which counts of past periods are removed, in milliseconds.
const SWEEP_INTERVAL: i64 = 60 * 60 * 1000;

/// A period in which calls are counted: a calendar minute or day, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Minute,
    Day,
}

impl Period {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Day => "day",
        }
    }

    fn milliseconds(self) -> i64 {
        match self {
            Self::Minute => 60 * 1000,
            Self::Day => 24 * 60 * 60 * 1000,
        }
    }

    /// Start of the current period, in milliseconds since 1970.
    pub(super) fn began(self, now: i64) -> i64 {
        now - now.rem_euclid(self.milliseconds())
    }
}

/// Counters of limited calls.
pub struct LimitedCalls {
    store: CountStore,
    /// Time of the last removal of old counts, in milliseconds since 1970.
    swept: AtomicI64,
}

/// A reached limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverLimit {
    /// The grant and the user whose calls are limited.
    pub limited: Limited,
    /// Maximum number of calls in the period.
    pub limit: u32,
    /// Name of the period: `minute` or `day`.
    pub period: &'static str,
    /// Time from which calls are possible again.
    pub again: Timestamp,
}

/// A limit and its current use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitUsage {
    /// The grant with the limit.
    #[serde(flatten)]
    pub grant: Grant,
    /// Calls in the current minute.
    pub calls_in_minute: u32,
    /// Calls in the current day, UTC.
    pub calls_in_day: u32,
}

impl fmt::Display for LimitUsage {
    /// Formats the used part of the limit, such as `Used: 3 of 60 calls a minute in this one`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Grant { subject, tool, limits } = &self.grant;
        let rates = [
            (limits.per_minute, "a minute", self.calls_in_minute, "in this one"),
            (limits.per_day, "a day (UTC)", self.calls_in_day, "today"),
        ];
        let rates = rates.iter().filter_map(|(limit, period, calls, when)| {
            Some(format!("{calls} of {} calls {period} {when}", (*limit)?))
        });
        let whose = match subject {
            Subject::Group(name) if !limits.each => format!(", by the group {name} together"),
            Subject::Group(_) | Subject::User(_) | Subject::Everyone => String::new(),
        };
        let tool = tool.as_ref().map(|tool| format!(" of {tool}")).unwrap_or_default();
        write!(out, "Used{tool}: {}{whose}", rates.collect::<Vec<_>>().join(", "))
    }
}

impl LimitedCalls {
    /// Creates counters in `database`.
    pub fn new(database: Database) -> Self {
        Self { store: CountStore::new(database), swept: AtomicI64::new(0) }
    }

    /// Counts a call of a tool of `toolkit`, whose `limits` are
    /// [alternatives](super::audience::Audience::limits), or returns the limit that is reached. A refused
    /// call is not counted.
    pub async fn count(
        &self,
        toolkit: &str,
        limits: &[Vec<Limited>],
    ) -> kitbag_database::Result<Result<(), OverLimit>> {
        if limits.is_empty() {
            return Ok(Ok(()));
        }
        let now = Timestamp::now().as_millisecond();
        // Old counts do no harm, so a failure to remove them is only logged.
        if let Err(error) = self.sweep(now).await {
            warn!(%error, "old counts of limited calls were not removed");
        }
        let mut soonest: Option<OverLimit> = None;
        for limits in limits {
            match self.store.count(toolkit, &counters(limits), now).await? {
                None => return Ok(Ok(())),
                Some(reached) => {
                    let over = over(limits, reached, now);
                    if soonest.as_ref().is_none_or(|known| over.again < known.again) {
                        soonest = Some(over);
                    }
                }
            }
        }
        Ok(soonest.map_or(Ok(()), Err))
    }

    /// Returns the current use of each of these limits.
    pub async fn usage(
        &self,
        toolkit: &str,
        limits: Vec<Limited>,
    ) -> kitbag_database::Result<Vec<LimitUsage>> {
        let now = Timestamp::now().as_millisecond();
        let mut used = Vec::new();
        for limited in limits {
            let [calls_in_minute, calls_in_day] = self.store.usage(toolkit, &limited, now).await?;
            used.push(LimitUsage { grant: limited.grant, calls_in_minute, calls_in_day });
        }
        Ok(used)
    }

    async fn sweep(&self, now: i64) -> kitbag_database::Result<()> {
        let last = self.swept.load(Ordering::Relaxed);
        let is_due = now - last > SWEEP_INTERVAL
            && self.swept.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_due { self.store.remove_before(now - 2 * Period::Day.milliseconds()).await } else { Ok(()) }
    }
}

impl OverLimit {
    /// Returns the time until calls are possible again.
    pub fn wait(&self) -> Duration {
        self.again.duration_since(Timestamp::now()).try_into().unwrap_or_default()
    }

    /// Returns the message for the user.
    pub fn message(&self, toolkit: &str) -> String {
        let Limited { grant: Grant { subject, tool, .. }, user } = &self.limited;
        let what = tool.as_ref().map_or_else(|| toolkit.to_owned(), |tool| format!("{toolkit} ({tool})"));
        let whose = match (subject, user) {
            (Subject::Group(name), None) => format!("the group {name} may make together"),
            (Subject::Group(name), Some(_)) => format!("a member of the group {name} may make"),
            (Subject::User(_), _) => "you may make".to_owned(),
            (Subject::Everyone, _) => "each user may make".to_owned(),
        };
        let limit = self.limit;
        let period = self.period;
        let calls = if limit == 1 { "call" } else { "calls" };
        let again = self.again.round(jiff::Unit::Second).unwrap_or(self.again);
        let seconds = self.seconds();
        format!(
            "The limit of {limit} {calls} a {period} that {whose} to {what} is reached. A call is possible again at {again}, \
             in {seconds} s. Its owner, or an operator, can change the limit (`kitbag toolkit share {toolkit}`)."
        )
    }

    /// Returns the whole seconds until calls are possible again, at least one.
    pub fn seconds(&self) -> u64 {
        self.wait().as_secs() + 1
    }
}

/// A counter of one limit in one period.
pub(super) struct Counter<'a> {
    pub(super) limited: &'a Limited,
    pub(super) period: Period,
    pub(super) limit: u32,
}

impl Counter<'_> {
    /// Key of the counter's row among those of a toolkit.
    fn row(&self) -> impl Ord {
        (keys(self.limited), &self.limited.grant.tool, self.period.name())
    }
}

/// Returns the counters of these limits, up to two for each (minute, day), in the order of their rows: all
/// calls lock rows in this order.
fn counters(limits: &[Limited]) -> Vec<Counter<'_>> {
    let of = |limited: &'_ Limited| {
        let rates =
            [(Period::Minute, limited.grant.limits.per_minute), (Period::Day, limited.grant.limits.per_day)];
        rates.into_iter().filter_map(|(period, limit)| Some((period, limit?.get()))).collect::<Vec<_>>()
    };
    let with_rates =
        |limited| of(limited).into_iter().map(move |(period, limit)| Counter { limited, period, limit });
    let mut counters: Vec<_> = limits.iter().flat_map(with_rates).collect();
    counters.sort_by(|one, other| one.row().cmp(&other.row()));
    counters
}

/// Returns the limit of the counter with index `reached`, with the time at which its period ends.
fn over(limits: &[Limited], reached: usize, now: i64) -> OverLimit {
    let counters = counters(limits);
    let Counter { limited, period, limit } = &counters[reached];
    let again = period.began(now) + period.milliseconds();
    OverLimit {
        limited: (*limited).clone(),
        limit: *limit,
        period: period.name(),
        again: Timestamp::from_millisecond(again).unwrap_or_default(),
    }
}
