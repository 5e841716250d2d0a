//! Requests per second, latency and processor time, of all candidates in turns.

use serde::Serialize;

use crate::Outcome;
use crate::candidate::{self, CANDIDATES, Candidate};
use crate::components::Components;
use crate::load::{Sample, sample};
use crate::report::Effort;
use crate::stats::median;

/// How many connections there are at once.
const CONNECTIONS: [usize; 3] = [1, 8, 64];

/// All candidates at one number of connections.
#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) connections: usize,
    pub(crate) candidates: Vec<Figures>,
}

/// One candidate: medians over the rounds.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    #[serde(flatten)]
    pub(crate) median: Sample,
    /// Requests per second against the native server's of the same round.
    pub(crate) against_native: f64,
    /// Requests per second against the floor's of the same round.
    pub(crate) against_floor: f64,
    /// Requests per second against the Node server's of the same round.
    pub(crate) against_node: f64,
}

/// Measures every point.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<Vec<Point>> {
    let candidates = candidate::start(components).await?;
    for candidate in &candidates {
        sample(candidate, 8, effort.warm_up).await?;
    }
    let mut points = Vec::new();
    for connections in CONNECTIONS {
        eprintln!("Measuring {connections} connections");
        points.push(point(&candidates, connections, effort).await?);
    }
    Ok(points)
}

async fn point(candidates: &[Candidate; CANDIDATES], connections: usize, effort: &Effort) -> Outcome<Point> {
    // In turns, so that times in which the machine is slow affect all candidates.
    let mut rounds = Vec::new();
    for _ in 0..effort.rounds {
        let mut round = Vec::with_capacity(CANDIDATES);
        for candidate in candidates {
            round.push(sample(candidate, connections, effort.point).await?);
        }
        rounds.push(round);
    }
    let candidates = candidates.iter().enumerate();
    let candidates = candidates.map(|(index, candidate)| figures(candidate.name, index, &rounds)).collect();
    Ok(Point { connections, candidates })
}

fn figures(name: &'static str, index: usize, rounds: &[Vec<Sample>]) -> Figures {
    let of = |field: fn(&Sample) -> f64| median(rounds.iter().map(|round| field(&round[index])));
    let against = |other: usize| {
        median(rounds.iter().map(|round| round[index].requests_per_second / round[other].requests_per_second))
    };
    Figures {
        name,
        median: Sample {
            requests_per_second: of(|sample| sample.requests_per_second),
            p50_us: of(|sample| sample.p50_us),
            p99_us: of(|sample| sample.p99_us),
            processor_us_per_request: of(|sample| sample.processor_us_per_request),
        },
        against_floor: against(0),
        against_native: against(1),
        against_node: against(4),
    }
}
