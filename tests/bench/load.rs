//! Load generator: each open connection sends its next request when it has received a response.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use serde::Serialize;

use crate::Outcome;
use crate::candidate::Candidate;
use crate::client::{Connection, Prepared};
use crate::stats::percentile;

/// Measurements of one server over a period.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) requests_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Processor time of the server process.
    pub(crate) processor_us_per_request: f64,
}

/// Repeats the candidate's call over `connections` for `duration`.
pub(crate) async fn sample(candidate: &Candidate, connections: usize, duration: Duration) -> Outcome<Sample> {
    let calls = vec![&candidate.call; connections];
    let used = || candidate.server.processor_time();
    let (sample, _) = sample_calls(candidate.server.address(), &calls, duration, used, || Ok(Duration::ZERO))
        .await
        .map_err(|error| format!("{}: {error}", candidate.name))?;
    Ok(sample)
}

/// Repeats each call over its own connection for `duration`. `used`: processor time of the servers so far;
/// `used_by_others`: that of the servers behind them. The second result is the latter's processor time per
/// request, in µs.
pub(crate) async fn sample_calls(
    address: SocketAddr,
    calls: &[&Prepared],
    duration: Duration,
    used: impl Fn() -> Outcome<Duration>,
    used_by_others: impl Fn() -> Outcome<Duration>,
) -> Outcome<(Sample, f64)> {
    let mut open = Vec::new();
    for call in calls {
        let mut connection = Connection::open(address).await?;
        let reply = connection.exchange(call).await?;
        open.push((connection, *call, reply.len()));
    }

    let (used_before, others_before) = (used()?, used_by_others()?);
    let started = Instant::now();
    let deadline = started + duration;
    let latencies = try_join_all(
        open.into_iter().map(|(connection, call, size)| repeat(connection, call, size, deadline)),
    );
    let mut latencies = latencies.await?.concat();
    let elapsed = started.elapsed();
    let (used, others) =
        (used()?.saturating_sub(used_before), used_by_others()?.saturating_sub(others_before));

    let requests = latencies.len() as f64;
    let latency_us =
        |share, latencies: &mut [Duration]| micros(percentile(latencies, share).unwrap_or_default());
    let sample = Sample {
        requests_per_second: requests / elapsed.as_secs_f64(),
        p50_us: latency_us(0.5, &mut latencies),
        p99_us: latency_us(0.99, &mut latencies),
        processor_us_per_request: micros(used) / requests,
    };
    Ok((sample, micros(others) / requests))
}

/// Converts a duration to microseconds.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Repeats the call until `deadline`; returns the latencies. A response of a different size is an error.
async fn repeat(
    mut connection: Connection,
    call: &Prepared,
    size: usize,
    deadline: Instant,
) -> Outcome<Vec<Duration>> {
    let mut latencies = Vec::new();
    loop {
        let started = Instant::now();
        if started >= deadline {
            return Ok(latencies);
        }
        let reply = connection.exchange(call).await?;
        latencies.push(started.elapsed());
        if reply.len() != size {
            return Err(format!("the answer has changed: {}", String::from_utf8_lossy(&reply)).into());
        }
    }
}
