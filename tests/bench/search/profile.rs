//! Breakdown of search time, measured from outside: the same queries with parts of the work left out.

use std::time::{Duration, Instant};

use crate::Outcome;
use crate::api::Client;
use crate::child::Server;
use crate::stats::percentile;

/// Sequential searches.
pub(crate) struct Searches {
    times: Vec<Duration>,
    /// Processor time of the server.
    processor: Duration,
}

/// Search mode that the server must report.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Meaning,
    Words,
}

impl Searches {
    /// Runs queries, each for its first ten results. Fails if the server reports another search mode.
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

    /// Percentile of the search times; `share` is from 0 to 1.
    pub(crate) fn at(&self, share: f64) -> Duration {
        percentile(&mut self.times.clone(), share).unwrap_or_default()
    }

    /// Processor time per search.
    pub(crate) fn processor_time(&self) -> Duration {
        per(self.processor, self.times.len())
    }
}

/// Prints the duration of queries and its parts. `again`: the queries of `first` repeated, with cached query
/// vectors. `by_words`: the same queries on a server without a model.
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

/// Average of a processor time over `count` operations.
pub(crate) fn per(time: Duration, count: usize) -> Duration {
    time / u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}
