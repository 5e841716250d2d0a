//! Where the time of searches goes, seen from outside: the same queries with parts of the work left out.

use std::time::{Duration, Instant};

use crate::Outcome;
use crate::api::Client;
use crate::child::Server;
use crate::stats::percentile;

/// Searches, one after the other.
pub(crate) struct Searches {
    times: Vec<Duration>,
    /// Processor time of the server.
    processor: Duration,
}

/// What the server must say that its searches go by.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Meaning,
    Words,
}

impl Searches {
    /// Runs queries, each for its first ten results.
    pub(crate) async fn run(
        server: &Server,
        client: &mut Client,
        queries: &[String],
        by: By,
    ) -> Outcome<Self> {
        let expected = match by {
            By::Meaning => "HYBRID",
            By::Words => "FULL_TEXT",
        };
        let before = server.processor_time()?;
        let mut times = Vec::with_capacity(queries.len());
        for query in queries {
            let started = Instant::now();
            let (_, mode) = client.search(query, 10).await?;
            times.push(started.elapsed());
            if mode != expected {
                return Err(format!("a search was {mode}, not {expected}").into());
            }
        }
        Ok(Self { times, processor: server.processor_time()?.saturating_sub(before) })
    }

    /// The time below which this share (0 to 1) of the searches took.
    pub(crate) fn at(&self, share: f64) -> Duration {
        percentile(&mut self.times.clone(), share).unwrap_or_default()
    }

    /// Processor time of one.
    fn processor_time(&self) -> Duration {
        per(self.processor, self.times.len())
    }
}

/// Prints how long queries take, and what adds to it. `again` are the same queries as `first`, whose vectors the server
/// has kept; `by_words` are they on a server without a model.
pub(crate) fn print(first: &Searches, again: &Searches, by_words: &Searches) {
    let (p50, p99, processor) = (first.at(0.5), first.at(0.99), first.processor_time());
    println!("  query       p50 {p50:.1?}, p99 {p99:.1?}, processor time {processor:.1?}; of that");
    for (part, whole, without) in [
        ("its vector", first, Some(again)),
        ("meaning", again, Some(by_words)),
        ("words, answer", by_words, None),
    ] {
        let rest = without.map(|without| (without.at(0.5), without.processor_time())).unwrap_or_default();
        let (time, processor) =
            (whole.at(0.5).saturating_sub(rest.0), whole.processor_time().saturating_sub(rest.1));
        println!("    {part:13} {time:.1?}, processor time {processor:.1?}");
    }
}

/// The share of one of `count` in some processor time.
pub(crate) fn per(time: Duration, count: usize) -> Duration {
    time / u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}
