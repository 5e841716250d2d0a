//! `just bench --cluster`: cost of a PostgreSQL database and of a second process, compared with one process
//! and a file.
//!
//! Each process is pinned to a core, and all load comes through `HAProxy`, with the configuration of
//! `packaging/compose/haproxy.cfg`. Where the cores are few, latency says little; processor time a call says more.

mod balancer;
mod database_time;
mod report;
mod search;
mod topology;

use std::time::Duration;

use crate::Outcome;
use crate::client::Prepared;
use crate::load::{Sample, sample_calls};
use crate::report::Effort;
use crate::service::Engine;
use crate::stats::median;
use crate::tool_call::tool_call;
use balancer::Routing;
pub(crate) use report::Report;
use search::Searches;
use topology::Topology;

/// Numbers of concurrent connections, each of a different user.
const CONNECTIONS: [usize; 3] = [1, 8, 64];
/// Name, database, number of processes, and routing. The first topology is the reference.
const TOPOLOGIES: [(&str, Engine, usize, Routing); 4] = [
    ("SQLite × 1", Engine::Sqlite, 1, Routing::ByUser),
    ("PostgreSQL × 1", Engine::Postgres, 1, Routing::ByUser),
    ("PostgreSQL × 2", Engine::Postgres, 2, Routing::ByUser),
    ("PostgreSQL × 2, in turn", Engine::Postgres, 2, Routing::InTurn),
];

/// Results for one number of connections.
struct Point {
    connections: usize,
    /// Medians over the rounds, for each topology.
    figures: Vec<Figures>,
}

struct Figures {
    sample: Sample,
    /// Processor time of the PostgreSQL server per call, in µs.
    postgres_us: f64,
    /// Ratios of Kitbag's processor time to that of each topology: medians of the ratios within a round.
    against: Vec<f64>,
}

/// Measures all topologies, with calls of `text`.
pub(crate) async fn measure(component: &[u8], effort: &Effort) -> Outcome<Report> {
    let mut topologies = Vec::new();
    for (name, engine, processes, routing) in TOPOLOGIES {
        topologies.push(Topology::start(name, engine, processes, routing, component).await?);
    }
    let mut calls = Vec::new();
    for topology in &topologies {
        calls.push(calls_of_users(topology)?);
    }
    for (topology, calls) in topologies.iter().zip(&calls) {
        call(topology, calls, 8, effort.warm_up).await?;
    }
    let mut points = Vec::new();
    for connections in CONNECTIONS {
        eprintln!("Measuring {connections} connections");
        // In turns, so that slow phases of the machine affect all of them.
        let mut rounds = Vec::new();
        for _ in 0..effort.rounds {
            let mut round = Vec::new();
            for (topology, calls) in topologies.iter().zip(&calls) {
                round.push(call(topology, calls, connections, effort.point).await?);
            }
            rounds.push(round);
        }
        let figures = (0..topologies.len()).map(|index| figures(index, &rounds)).collect();
        points.push(Point { connections, figures });
    }
    let mut searches: Vec<Searches> = Vec::new();
    for topology in &topologies {
        eprintln!("Measuring ingest and search: {}", topology.name);
        searches.push(search::measure(topology, effort).await?);
    }
    Ok(Report { points, searches })
}

/// Prepares the same call for as many users as there are connections.
fn calls_of_users(topology: &Topology) -> Outcome<Vec<Prepared>> {
    let users = CONNECTIONS.into_iter().max().unwrap_or_default();
    let address = topology.balancer.address();
    let arguments = serde_json::json!({ "text": crate::candidate::text() });
    (0..users)
        .map(|user| {
            let token = topology.service.token(&format!("user-{user}"))?;
            tool_call(address, Some(&token), "text__count", &arguments)
        })
        .collect()
}

async fn call(
    topology: &Topology,
    calls: &[Prepared],
    connections: usize,
    duration: Duration,
) -> Outcome<(Sample, f64)> {
    let calls: Vec<_> = calls.iter().take(connections).collect();
    let sampled = sample_calls(
        topology.balancer.address(),
        &calls,
        duration,
        || topology.processor_time(),
        database_time::processor_time,
    );
    sampled.await.map_err(|error| format!("{}: {error}", topology.name).into())
}

fn figures(index: usize, rounds: &[Vec<(Sample, f64)>]) -> Figures {
    let of = |field: fn(&Sample) -> f64| median(rounds.iter().map(|round| field(&round[index].0)));
    let ratio = |round: &Vec<(Sample, f64)>, other: usize| {
        round[index].0.processor_us_per_request / round[other].0.processor_us_per_request
    };
    Figures {
        sample: Sample {
            requests_per_second: of(|sample| sample.requests_per_second),
            p50_us: of(|sample| sample.p50_us),
            p99_us: of(|sample| sample.p99_us),
            processor_us_per_request: of(|sample| sample.processor_us_per_request),
        },
        postgres_us: median(rounds.iter().map(|round| round[index].1)),
        against: (0..TOPOLOGIES.len())
            .map(|other| median(rounds.iter().map(|round| ratio(round, other))))
            .collect(),
    }
}
