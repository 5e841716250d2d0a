//! `just bench --traces`: cost of tracing calls, in processor time of the server.

use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::Outcome;
use crate::candidate::{kitbag, own};
use crate::components::Components;
use crate::load::sample;
use crate::report::Effort;
use crate::stats::median;

/// Number of concurrent connections.
const CONNECTIONS: usize = 8;
/// Multiplier for the rounds of the whole benchmark: the differences are small.
const ROUNDS: usize = 3;
/// Sampling rates of traced calls; `None`: no collector. The first is the reference.
const SHARES: [(&str, Option<&str>); 4] =
    [("off", None), ("off, once more", None), ("0.1, the default", Some("0.1")), ("1", Some("1"))];

/// Processor time per call, by sampling rate.
pub(crate) struct Cost(Vec<Figures>);

struct Figures {
    share: &'static str,
    /// Median over the rounds, in µs.
    processor_us: f64,
    /// Ratio to the first rate: median of the ratios within a round.
    against_off: f64,
}

/// Serves a collector that discards all traces.
pub(crate) async fn serve_collector() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("the collector serves http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(take)));
    }
}

async fn take(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // Errors while reading the body are ignored.
    let _ = request.into_body().collect().await;
    Ok(Response::default())
}

/// Measures servers that differ only in the sampling rate, in turns.
pub(crate) async fn measure(components: &Components, effort: &Effort) -> Outcome<Cost> {
    let collector = own("collector", "collect-traces")?;
    let url = format!("http://{}/v1/traces", collector.server.address());
    let mut candidates = Vec::new();
    for (_, share) in SHARES {
        let flags = share.map(|share| ["--traces", url.as_str(), "--traces-sample", share]);
        let flags = flags.as_ref().map_or(&[][..], |flags| &flags[..]);
        candidates.push(kitbag("kitbag", &components.text, "text__count", flags).await?);
    }
    for candidate in &candidates {
        sample(candidate, CONNECTIONS, effort.warm_up).await?;
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS * effort.rounds {
        let mut round = Vec::new();
        for candidate in &candidates {
            round.push(sample(candidate, CONNECTIONS, effort.point).await?.processor_us_per_request);
        }
        rounds.push(round);
    }
    let of = |index: usize, share| Figures {
        share,
        processor_us: median(rounds.iter().map(|round| round[index])),
        against_off: median(rounds.iter().map(|round| round[index] / round[0])),
    };
    Ok(Cost(SHARES.iter().enumerate().map(|(index, (share, _))| of(index, *share)).collect()))
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{:<20} {:>24} {:>12}",
            "share that is traced", "processor time a call", "against off"
        )?;
        for Figures { share, processor_us, against_off } in &self.0 {
            writeln!(out, "{share:<20} {processor_us:>21.1} µs {against_off:>12.3}")?;
        }
        Ok(())
    }
}
