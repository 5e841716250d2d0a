//! Quality of search: ingests a collection and runs its queries.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::api::{BATCH, Client};
use crate::collection;
use crate::kitbag_server;
use crate::stats::percentile;

/// Ranks that each measure considers.
const NDCG_RANKS: usize = 10;
const RECALL_RANKS: usize = 100;

/// Prints nDCG@10, recall@100, and how long everything took.
pub(crate) async fn measure(folder: &Path, model: &Path) -> Outcome<()> {
    let collection = collection::read(folder)?;
    let data = tempfile::tempdir()?;
    let model = model.to_str().ok_or("the model's path is no text")?;
    let server = kitbag_server::start(data.path(), &["--model", model])?;
    let mut client = Client::open(&server, data.path(), "local").await?;

    let started = Instant::now();
    for documents in collection.documents.chunks(BATCH) {
        client.ingest(documents).await?;
    }
    let stored = started.elapsed();
    client.settled().await?;
    let ready = started.elapsed();

    let (mut ndcg, mut recall, mut times, mut mode) = (0.0, 0.0, Vec::new(), String::new());
    for query in &collection.queries {
        let started = Instant::now();
        client.search(&query.text, NDCG_RANKS).await?;
        times.push(started.elapsed());
        let found;
        (found, mode) = client.search(&query.text, RECALL_RANKS).await?;
        ndcg += normalised_gain(&found, &query.relevant);
        let hits = found.iter().filter(|url| query.relevant.contains_key(*url)).count();
        recall += hits as f64 / query.relevant.len() as f64;
    }

    let (documents, queries) = (collection.documents.len(), collection.queries.len());
    println!("{}: {documents} documents, {queries} queries, mode {mode}", folder.display());
    println!("  nDCG@10     {:.4}", ndcg / queries as f64);
    println!("  recall@100  {:.4}", recall / queries as f64);
    println!(
        "  ingest      {:.1} documents/s until search finds them; stored after {stored:.1?}",
        rate(documents, ready)
    );
    println!("  query       p50 {:.1?}, p99 {:.1?}", at(&mut times, 0.5), at(&mut times, 0.99));
    Ok(())
}

/// nDCG of the first ten, with the grades as gains.
fn normalised_gain(found: &[String], relevant: &HashMap<String, f64>) -> f64 {
    let discounted = |gains: &[f64]| -> f64 {
        gains.iter().zip(2_u32..).take(NDCG_RANKS).map(|(gain, rank)| gain / f64::from(rank).log2()).sum()
    };
    let gains: Vec<_> = found.iter().map(|url| relevant.get(url).copied().unwrap_or_default()).collect();
    let mut ideal: Vec<_> = relevant.values().copied().collect();
    ideal.sort_unstable_by(|one, other| other.total_cmp(one));
    discounted(&gains) / discounted(&ideal)
}

fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn at(times: &mut [Duration], share: f64) -> Duration {
    percentile(times, share).unwrap_or_default()
}
