//! The load generator: connections that stay open and send the next request once they have a response.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use serde::Serialize;

use crate::Outcome;
use crate::candidate::Candidate;
use crate::client::Connection;
use crate::stats::percentile;

/// Measurements of one server during a period.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) requests_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Processor time of the server's process.
    pub(crate) processor_us_per_request: f64,
}

/// Sends the candidate's call over `connections` for `duration`.
pub(crate) async fn sample(candidate: &Candidate, connections: usize, duration: Duration) -> Outcome<Sample> {
    let mut open = Vec::new();
    for _ in 0..connections {
        let mut connection = Connection::open(candidate.server.address()).await?;
        let reply = connection.exchange(&candidate.call).await?;
        open.push((connection, reply.len()));
    }

    let used_before = candidate.server.processor_time()?;
    let started = Instant::now();
    let deadline = started + duration;
    let latencies = try_join_all(
        open.into_iter().map(|(connection, size)| repeat(candidate, connection, size, deadline)),
    );
    let mut latencies = latencies.await?.concat();
    let elapsed = started.elapsed();
    let used = candidate.server.processor_time()?.saturating_sub(used_before);

    let requests = latencies.len() as f64;
    let latency_us =
        |share, latencies: &mut [Duration]| micros(percentile(latencies, share).unwrap_or_default());
    Ok(Sample {
        requests_per_second: requests / elapsed.as_secs_f64(),
        p50_us: latency_us(0.5, &mut latencies),
        p99_us: latency_us(0.99, &mut latencies),
        processor_us_per_request: micros(used) / requests,
    })
}

/// Microseconds.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Repeats the call until `deadline`; returns the latencies. A response of another size is an error.
async fn repeat(
    candidate: &Candidate,
    mut connection: Connection,
    size: usize,
    deadline: Instant,
) -> Outcome<Vec<Duration>> {
    let mut latencies = Vec::new();
    loop {
        let started = Instant::now();
        if started >= deadline {
            return Ok(latencies);
        }
        let reply = connection.exchange(&candidate.call).await?;
        latencies.push(started.elapsed());
        if reply.len() != size {
            return Err(format!(
                "{} changed its answer: {}",
                candidate.name,
                String::from_utf8_lossy(&reply)
            )
            .into());
        }
    }
}
