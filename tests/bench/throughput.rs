//! Requests per second, latency and processor time, of all candidates in turns.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Outcome;
use crate::candidate::{self, Candidate, NotMeasured};
use crate::components::Components;
use crate::load::{Sample, sample};
use crate::report::Effort;
use crate::stats::median;

/// Numbers of concurrent connections.
const CONNECTIONS: [usize; 3] = [1, 8, 64];

/// Servers that all candidates are compared with, in the order of the report.
pub(crate) const REFERENCES: [&str; 5] = ["native", "floor", "node", "fastmcp", "act"];

/// All results over HTTP.
#[derive(Debug, Serialize)]
pub(crate) struct Throughput {
    pub(crate) points: Vec<Point>,
    pub(crate) not_measured: Vec<NotMeasured>,
}

impl Throughput {
    /// Returns the lowest ratio of a candidate's requests per second to those of a reference; `None` if
    /// either was not measured.
    pub(crate) fn worst(&self, name: &str, reference: &str) -> Option<f64> {
        let figures = self.points.iter().flat_map(|point| &point.candidates).filter(|it| it.name == name);
        figures.filter_map(|it| it.against.get(reference).copied()).reduce(f64::min)
    }
}

/// Results of all candidates for one number of connections.
#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) connections: usize,
    pub(crate) candidates: Vec<Figures>,
}

/// Results of one candidate: medians over the rounds.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    #[serde(flatten)]
    pub(crate) median: Sample,
    /// Ratio of requests per second to those of each of [`REFERENCES`] in the same round. References that
    /// were not measured are absent.
    pub(crate) against: BTreeMap<&'static str, f64>,
}

/// Measures all numbers of connections.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<Throughput> {
    let (candidates, not_measured) = candidate::start(components).await?;
    for candidate in &candidates {
        sample(candidate, 8, effort.warm_up).await?;
    }
    let mut points = Vec::new();
    for connections in CONNECTIONS {
        eprintln!("Measuring {connections} connections");
        points.push(point(&candidates, connections, effort).await?);
    }
    Ok(Throughput { points, not_measured })
}

async fn point(candidates: &[Candidate], connections: usize, effort: &Effort) -> Outcome<Point> {
    // In turns, so that slow phases of the machine affect all candidates.
    let mut rounds = Vec::new();
    for _ in 0..effort.rounds {
        let mut round = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            round.push(sample(candidate, connections, effort.point).await?);
        }
        rounds.push(round);
    }
    let figures = (0..candidates.len()).map(|index| figures(candidates, index, &rounds)).collect();
    Ok(Point { connections, candidates: figures })
}

fn figures(candidates: &[Candidate], index: usize, rounds: &[Vec<Sample>]) -> Figures {
    let of = |field: fn(&Sample) -> f64| median(rounds.iter().map(|round| field(&round[index])));
    let against = |other: usize| {
        median(rounds.iter().map(|round| round[index].requests_per_second / round[other].requests_per_second))
    };
    Figures {
        name: candidates[index].name,
        median: Sample {
            requests_per_second: of(|sample| sample.requests_per_second),
            p50_us: of(|sample| sample.p50_us),
            p99_us: of(|sample| sample.p99_us),
            processor_us_per_request: of(|sample| sample.processor_us_per_request),
        },
        against: candidates
            .iter()
            .enumerate()
            .filter(|(_, other)| REFERENCES.contains(&other.name))
            .map(|(other_index, other)| (other.name, against(other_index)))
            .collect(),
    }
}
