//! Operators' overview: calls, failures, refusals and latencies of each toolkit, users, sizes.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use kitbag_knowledge::Usage;
use kitbag_toolkits::invocations::{CallCounts, Counts, Latency, Period, ToolkitCounts};
use serde::{Deserialize, Serialize};

use super::error::AccessError;
use super::operator::Operator;

/// Figures of all toolkits over a period. Times are RFC 3339, UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Days in the period, including the current one.
    pub days: u32,
    /// Start of the period.
    pub from: String,
    /// Length of each interval, in hours.
    pub interval_hours: i64,
    /// Calls of all toolkits.
    #[serde(flatten)]
    pub figures: Figures,
    /// Number of users with calls since `users_from`.
    pub users: u64,
    /// Start of the count of users; later than `from` if the retention of records is shorter than the period.
    pub users_from: String,
    /// Number of documents of all users.
    pub documents: u64,
    /// Size of all documents, in bytes.
    pub document_bytes: u64,
    /// Number of users' consents that calls are waiting for.
    pub waiting_consents: u64,
    /// Intervals, oldest first; the last one has not ended.
    pub intervals: Vec<IntervalFigures>,
    /// Toolkits, sorted by number of calls, descending.
    pub toolkits: Vec<ToolkitFigures>,
}

/// Figures of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Number of calls.
    pub calls: u64,
    /// Number of calls without a result, except those that the client cancelled.
    pub failures: u64,
    /// Number of failed calls that did not run: invalid arguments, too many concurrent calls, an exceeded
    /// limit, or a missing consent.
    pub refused: u64,
    /// Median latency of the calls that ran.
    pub p50: Option<Latency>,
    /// 95th percentile of the latency of the calls that ran.
    pub p95: Option<Latency>,
}

/// Figures of the calls that started in an interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IntervalFigures {
    /// Start of the interval.
    pub from: String,
    /// Calls of all toolkits.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Figures of a toolkit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolkitFigures {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Display name of the toolkit.
    pub name: String,
    /// Calls of the toolkit's tools.
    #[serde(flatten)]
    pub figures: Figures,
    /// Number of users who have called the toolkit.
    pub users: u64,
    /// Number of users whose calls are refused until they agree to the toolkit's reach.
    pub waiting_consents: u64,
    /// Size of the component, in bytes; `None` for the server's own tools.
    pub component_bytes: Option<u64>,
    /// Number of calls in each interval.
    pub calls_by_interval: Vec<u64>,
    /// Number of failures in each interval.
    pub failures_by_interval: Vec<u64>,
}

/// Figures of deployed toolkits beside their calls, by toolkit id.
struct DeployedFigures {
    component_bytes: HashMap<String, u64>,
    waiting_consents: HashMap<String, u64>,
}

impl Operator {
    /// Returns the figures of all deployed toolkits, and of the server's own tools.
    pub async fn overview(&self, period: Period) -> Result<Overview, AccessError> {
        let stores = self.0.stores();
        let counts = stores.invocations.counts(period).await.map_err(AccessError::Records)?;
        let documents = stores.knowledge.usage_of_all().await.map_err(AccessError::Records)?;
        let deployed = DeployedFigures {
            component_bytes: stores.toolkits.versions.component_sizes().await?,
            waiting_consents: stores.toolkits.consents.waiting_by_toolkit().await?,
        };
        let registry = stores.toolkits.registry.load();
        let own = stores.knowledge_tools.iter().map(|tools| tools.definition());
        let names = registry.all().map(|toolkit| &*toolkit.definition).chain(own);
        let names = names.map(|definition| (definition.id.clone(), definition.name.clone()));
        Ok(Overview::new(counts, names.collect(), &deployed, documents))
    }
}

impl Overview {
    /// Combines the counts of calls with the deployed toolkits, given as id and name.
    fn new(
        counts: Counts,
        toolkits: Vec<(String, String)>,
        deployed: &DeployedFigures,
        documents: Usage,
    ) -> Self {
        let Counts { period, from, users, users_from, toolkits: mut counted } = counts;
        let mut totals = vec![CallCounts::default(); period.intervals()];
        let mut all: Vec<_> = Vec::new();
        for (toolkit, name) in toolkits {
            let counts = counted.remove(&toolkit).unwrap_or_default();
            totals.iter_mut().zip(&counts.intervals).for_each(|(total, of_toolkit)| total.add(of_toolkit));
            let component_bytes = deployed.component_bytes.get(&toolkit).copied();
            let waiting_consents = deployed.waiting_consents.get(&toolkit).copied().unwrap_or_default();
            let figures = ToolkitFigures::new(toolkit, name, component_bytes, &counts, period);
            all.push(ToolkitFigures { waiting_consents, ..figures });
        }
        all.sort_by(|a, b| b.figures.calls.cmp(&a.figures.calls).then_with(|| a.toolkit.cmp(&b.toolkit)));
        let interval = SignedDuration::from_hours(period.interval_hours());
        let begin = |nth: usize| begin_of(from, interval, nth);
        let intervals = totals
            .iter()
            .enumerate()
            .map(|(nth, counts)| IntervalFigures { from: begin(nth).to_string(), figures: counts.into() });
        Self {
            days: period.days(),
            from: from.to_string(),
            interval_hours: period.interval_hours(),
            figures: (&CallCounts::sum(&totals)).into(),
            users,
            users_from: users_from.to_string(),
            documents: documents.documents,
            document_bytes: documents.bytes,
            waiting_consents: all.iter().map(|toolkit| toolkit.waiting_consents).sum(),
            intervals: intervals.collect(),
            toolkits: all,
        }
    }
}

impl ToolkitFigures {
    fn new(
        toolkit: String,
        name: String,
        component_bytes: Option<u64>,
        counts: &ToolkitCounts,
        period: Period,
    ) -> Self {
        let by_interval = |number: fn(&CallCounts) -> u64| {
            let mut numbers: Vec<_> = counts.intervals.iter().map(number).collect();
            numbers.resize(period.intervals(), 0);
            numbers
        };
        Self {
            toolkit,
            name,
            figures: (&CallCounts::sum(&counts.intervals)).into(),
            users: counts.users,
            waiting_consents: 0,
            component_bytes,
            calls_by_interval: by_interval(|counts| counts.calls),
            failures_by_interval: by_interval(|counts| counts.failures),
        }
    }
}

impl From<&CallCounts> for Figures {
    fn from(counts: &CallCounts) -> Self {
        let CallCounts { calls, failures, refused, .. } = *counts;
        Self { calls, failures, refused, p50: counts.percentile(50), p95: counts.percentile(95) }
    }
}

fn begin_of(from: Timestamp, interval: SignedDuration, nth: usize) -> Timestamp {
    let since = i32::try_from(nth).ok().and_then(|nth| interval.checked_mul(nth));
    since.and_then(|since| from.checked_add(since).ok()).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn toolkits_without_calls_are_last_and_removed_ones_nowhere() {
        let period = Period::ThirtyDays;
        let counts = |calls: u64| {
            let mut intervals = vec![CallCounts::default(); period.intervals()];
            (intervals[29].calls, intervals[29].failures, intervals[29].refused) = (calls, 1, 1);
            ToolkitCounts { intervals, users: 2 }
        };
        let toolkits = BTreeMap::from([
            ("a".to_owned(), counts(2)),
            ("gone".to_owned(), counts(9)),
            ("z".to_owned(), counts(5)),
        ]);
        let from: Timestamp = "2026-01-02T00:00:00Z".parse().expect("a time");
        let counts = Counts { period, from, users: 3, users_from: from, toolkits };
        let names = ["a", "m", "z"].map(|id| (id.to_owned(), id.to_uppercase())).to_vec();

        let deployed = DeployedFigures {
            component_bytes: HashMap::from([("a".to_owned(), 7)]),
            waiting_consents: HashMap::from([("m".to_owned(), 3), ("gone".to_owned(), 5)]),
        };
        let overview = Overview::new(counts, names, &deployed, Usage { documents: 1, bytes: 2 });

        let ids: Vec<_> = overview.toolkits.iter().map(|it| it.toolkit.as_str()).collect();
        assert_eq!(ids, ["z", "a", "m"]);
        assert_eq!((overview.figures.calls, overview.figures.failures, overview.figures.refused), (7, 2, 2));
        assert_eq!((overview.users, overview.documents, overview.document_bytes), (3, 1, 2));
        assert_eq!((overview.waiting_consents, overview.toolkits[2].waiting_consents), (3, 3));
        assert_eq!(overview.intervals[29].from, "2026-01-31T00:00:00Z");
        assert_eq!((overview.intervals[29].figures.calls, overview.intervals[0].figures.calls), (7, 0));
        let [z, a, m] = &overview.toolkits[..] else { panic!("three") };
        assert_eq!((z.calls_by_interval[29], z.failures_by_interval[29], z.component_bytes), (5, 1, None));
        assert_eq!((a.component_bytes, m.calls_by_interval.len(), m.users), (Some(7), 30, 0));
        let json = serde_json::to_value(&overview).expect("JSON");
        assert_eq!(serde_json::from_value::<Overview>(json).expect("the same"), overview);
    }
}
