//! Ingest, and the first and second search of each user.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::topology::Topology;
use crate::Outcome;
use crate::api::{BATCH, Client, Document};
use crate::load::micros;
use crate::report::Effort;
use crate::stats::median;
use crate::words::words;

/// Words per document: one chunk.
const WORDS: usize = 120;

/// Results for one topology.
pub(crate) struct Searches {
    /// Indexing jobs per second, from the first request until all documents are searchable.
    pub(crate) jobs_per_second: f64,
    /// First and second search of a user: medians over users.
    pub(crate) first_us: f64,
    pub(crate) second_us: f64,
    /// Memory growth of all processes during the searches, in KiB per user.
    pub(crate) memory_kib: f64,
}

/// Ingests documents of several users, and searches as each of them.
pub(crate) async fn measure(topology: &Topology, effort: &Effort) -> Outcome<Searches> {
    let (users, documents) = (effort.search_users, effort.search_documents);
    let mut clients = Vec::new();
    for user in 0..users {
        let token = topology.service.token(&format!("searcher-{user}"))?;
        clients.push(Client::with_token(topology.balancer.server(), token).await?);
    }
    let started = Instant::now();
    for (user, client) in clients.iter_mut().enumerate() {
        let all: Vec<_> = (0..documents).map(|number| document(user, number)).collect();
        for batch in all.chunks(BATCH) {
            client.ingest(batch, None).await?;
        }
    }
    for client in &mut clients {
        client.settled().await?;
    }
    let jobs_per_second = (users * documents) as f64 / started.elapsed().as_secs_f64();

    let before = topology.memory()?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (user, client) in clients.iter_mut().enumerate() {
        for times in [&mut first, &mut second] {
            let started = Instant::now();
            client.search(&words(user + 77, 6), 10).await?;
            times.push(micros(started.elapsed()));
        }
    }
    // Waits until the last search has released its temporary memory.
    sleep(Duration::from_millis(200)).await;
    let memory_kib = f64::from(topology.memory()?.saturating_sub(before)) / users as f64;
    Ok(Searches { jobs_per_second, first_us: median(first), second_us: median(second), memory_kib })
}

fn document(user: usize, number: usize) -> Document {
    Document {
        url: format!("https://load.example/{number}"),
        title: words(user * 1_000_000 + number, 5),
        text: words(user * 1_000_000 + number + 500_000, WORDS),
    }
}
