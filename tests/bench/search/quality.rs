//! Quality of search: ingests a collection and runs its queries.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::api::{BATCH, Client};
use crate::bootstrap::{mean, mean_interval};
use crate::collection::{self, Collection};
use crate::profile::{self, By, Searches, per};
use crate::service::{Engine, Service, free_address};

/// Ranks (cut-offs) of the measures.
const NDCG_RANKS: usize = 10;
const RECALL_RANKS: usize = 100;

/// Prints nDCG@10 and recall@100 for hybrid and for lexical search, with the durations.
pub(crate) async fn measure(folder: &Path, model: &Path, engine: Engine) -> Outcome<()> {
    let collection = collection::read(folder)?;
    let model = model.to_str().ok_or("the model's path is no text")?;
    let with_model = run(&collection, model, engine).await?;
    let words_alone = run(&collection, "none", engine).await?;

    let (documents, queries) = (collection.documents.len(), collection.queries.len());
    let mode = &with_model.mode;
    println!("{}, {engine:?}: {documents} documents, {queries} queries, mode {mode}", folder.display());
    println!("  nDCG@10     {}", estimate(&with_model.ndcg));
    println!("  recall@100  {}", estimate(&with_model.recall));
    println!(
        "  words alone {} nDCG@10, {:.4} recall@100",
        estimate(&words_alone.ndcg),
        mean(&words_alone.recall)
    );
    let gains: Vec<_> =
        with_model.ndcg.iter().zip(&words_alone.ndcg).map(|(one, other)| one - other).collect();
    println!("  the model   {} nDCG@10 more", estimate(&gains));
    println!(
        "  ingest      {:.1} documents/s until search finds them; stored after {:.1?}",
        rate(documents, with_model.ready),
        with_model.stored
    );
    println!(
        "    processor time {:.1?} a document, {:.1?} by words alone",
        per(with_model.processor, documents),
        per(words_alone.processor, documents)
    );
    profile::print(&with_model.first, &with_model.again, &words_alone.first);
    Ok(())
}

/// Results of one server for a collection.
struct Run {
    mode: String,
    /// nDCG and recall per query.
    ndcg: Vec<f64>,
    recall: Vec<f64>,
    /// First run of all queries, and a repetition.
    first: Searches,
    again: Searches,
    /// Time until the documents were durable, and until all were searchable.
    stored: Duration,
    ready: Duration,
    /// Processor time of ingesting.
    processor: Duration,
}

/// Runs the queries of a collection on a new server. `model`: a folder, or `none`.
async fn run(collection: &Collection, model: &str, engine: Engine) -> Outcome<Run> {
    let service = Service::create(engine, free_address()?)?;
    let server = service.start(&["--model", model])?;
    let mut client = Client::with_token(&server, service.token("ana")?).await?;

    let started = Instant::now();
    for documents in collection.documents.chunks(BATCH) {
        client.ingest(documents, None).await?;
    }
    let stored = started.elapsed();
    client.settled().await?;
    let ready = started.elapsed();

    let processor = server.processor_time()?;

    let queries: Vec<_> = collection.queries.iter().map(|query| query.text.clone()).collect();
    let by = if model == "none" { By::Words } else { By::Meaning };
    let first = Searches::run(&server, &mut client, &queries, by).await?;
    let again = Searches::run(&server, &mut client, &queries, by).await?;
    let (ndcg, recall, mode) = (Vec::new(), Vec::new(), String::new());
    let mut run = Run { mode, ndcg, recall, first, again, stored, ready, processor };
    for query in &collection.queries {
        let found;
        (found, run.mode) = client.search(&query.text, RECALL_RANKS).await?;
        run.ndcg.push(normalised_gain(&found, &query.relevant));
        let hits = found.iter().filter(|url| query.relevant.contains_key(*url)).count();
        run.recall.push(hits as f64 / query.relevant.len() as f64);
    }
    Ok(run)
}

/// Formats a mean over queries with its confidence interval.
fn estimate(values: &[f64]) -> String {
    let [low, high] = mean_interval(values);
    format!("{:.4} (95 % interval {low:.4} to {high:.4})", mean(values))
}

/// nDCG@10, with the grades as gains.
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
