//! Speed of search: for one user with many chunks, and for many users with few chunks each.
//!
//! The texts are ingested through the API by a server without a model. Their vectors are arbitrary, and are
//! written into the database while no server runs: embedding them would take hours. Queries are embedded
//! by the model.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::Outcome;
use crate::api::{BATCH, Client, Document};
use crate::child::Server;
use crate::kitbag_server;
use crate::mixed;
use crate::profile::{self, By, Searches};
use crate::stats::percentile;

/// Chunks per small user.
const CHUNKS_PER_SMALL_USER: usize = 500;
/// Words per document: one chunk.
const WORDS_PER_DOCUMENT: usize = 120;
/// Searches per measurement.
const SEARCHES: usize = 200;

const SMALL_GOAL: Duration = Duration::from_millis(10);

/// Time limit for writing the large user's index to a file.
const FILE_TIMEOUT: Duration = Duration::from_mins(5);

/// Goals: maximum number of chunks, p50 of the large user, and duration of the first search.
const GOALS: [(usize, Duration, Duration); 2] = [
    (100_000, Duration::from_millis(8), Duration::from_millis(200)),
    (usize::MAX, Duration::from_millis(30), Duration::from_secs(1)),
];

/// Prints the duration of searches.
pub(crate) async fn measure(chunks: usize, users: usize, model: &Path) -> Outcome<()> {
    let data = tempfile::tempdir()?;
    let goals = GOALS.into_iter().find(|(most, ..)| chunks <= *most);
    let (_, large_goal, first_goal) = goals.ok_or("there is a goal for each number of chunks")?;
    println!(
        "{chunks} chunks of one user, {CHUNKS_PER_SMALL_USER} of each of {users} others; their vectors are arbitrary"
    );
    let started = Instant::now();
    fill(&data, chunks, users).await?;
    println!(
        "  ingest      {:.0} documents/s by words alone",
        (chunks + users * CHUNKS_PER_SMALL_USER) as f64 / started.elapsed().as_secs_f64()
    );
    let (id, dimensions) = identify(model)?;
    give_vectors(data.path(), &id, dimensions).await?;

    let model = model.to_str().ok_or("the model's path is no text")?;
    let server = kitbag_server::start(data.path(), &["--model", model])?;
    let mut large = Client::open(&server, data.path(), "large").await?;
    println!("  large user  first search {:.1?}, by rows of the database", first_search(&mut large).await?);
    let queries = queries(SEARCHES);
    let first = Searches::run(&server, &mut large, &queries, By::Meaning).await?;
    let again = Searches::run(&server, &mut large, &queries, By::Meaning).await?;

    let mut small = clients(&server, data.path(), users).await?;
    let (mut first_times, mut times) = (Vec::new(), Vec::new());
    for (number, client) in small.iter_mut().enumerate() {
        first_times.push(timed(client, &queries[number % SEARCHES]).await?);
    }
    for search in 0..SEARCHES.max(users) {
        times.push(timed(&mut small[search % users], &queries[search % SEARCHES]).await?);
    }
    let memory = server.memory()? >> 10;
    let per_chunk = wait_for_file(data.path()).await? / chunks.max(1) as u64;
    drop(server);

    let server = kitbag_server::start(data.path(), &["--model", model])?;
    let mut large = Client::open(&server, data.path(), "large").await?;
    let time = first_search(&mut large).await?;
    println!("  large user  first search {time:.1?}, by its file{}", verdict(time, first_goal));
    drop(server);

    let server = kitbag_server::start(data.path(), &["--model", "none"])?;
    let mut large = Client::open(&server, data.path(), "large").await?;
    first_search(&mut large).await?;
    let by_words = Searches::run(&server, &mut large, &queries, By::Words).await?;
    profile::print(&first, &again, &by_words);
    println!("  large user  p50 {:.1?}{}", first.at(0.5), verdict(first.at(0.5), large_goal));
    let median = percentile(&mut times, 0.5).unwrap_or_default();
    println!("  small user  p50 {median:.1?}{}", verdict(median, SMALL_GOAL));
    println!("  small user  first search p50 {:.1?}", percentile(&mut first_times, 0.5).unwrap_or_default());
    println!("  memory      {memory} MiB");
    println!("  file        {per_chunk} bytes a chunk");
    drop(server);

    let all = per_chunk * (chunks + users * CHUNKS_PER_SMALL_USER) as u64;
    mixed::measure(data.path(), model, all / 4, users, &queries).await
}

/// Measures the first search of a client, with words that no other query contains.
async fn first_search(client: &mut Client) -> Outcome<Duration> {
    timed(client, "warm up").await
}

/// Waits until an index of this data directory has been written to a file. Returns its size in bytes.
async fn wait_for_file(data: &Path) -> Outcome<u64> {
    const DIGEST: usize = 64;

    let deadline = Instant::now() + FILE_TIMEOUT;
    while Instant::now() < deadline {
        for file in fs::read_dir(data.join("search"))? {
            let file = file?;
            if file.file_name().len() == DIGEST {
                return Ok(file.metadata()?.len());
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err("the server wrote no file of the large user's index".into())
}

async fn fill(data: &TempDir, chunks: usize, users: usize) -> Outcome<()> {
    let server = kitbag_server::start(data.path(), &["--model", "none"])?;
    let mut words = Words(1);
    let mut large = Client::open(&server, data.path(), "large").await?;
    ingest(&mut large, chunks, &mut words).await?;
    for client in &mut clients(&server, data.path(), users).await? {
        ingest(client, CHUNKS_PER_SMALL_USER, &mut words).await?;
        client.settled().await?;
    }
    large.settled().await
}

async fn ingest(client: &mut Client, count: usize, words: &mut Words) -> Outcome<()> {
    for first in (0..count).step_by(BATCH) {
        let documents: Vec<_> = (first..count.min(first + BATCH))
            .map(|number| Document {
                url: format!("https://load.example/{number}"),
                title: words.text(5),
                text: words.text(WORDS_PER_DOCUMENT),
            })
            .collect();
        client.ingest(&documents).await?;
    }
    Ok(())
}

pub(crate) async fn clients(server: &Server, data: &Path, users: usize) -> Outcome<Vec<Client>> {
    let mut clients = Vec::with_capacity(users);
    for user in 0..users {
        clients.push(Client::open(server, data, &format!("small-{user}")).await?);
    }
    Ok(clients)
}

pub(crate) async fn timed(client: &mut Client, query: &str) -> Outcome<Duration> {
    let started = Instant::now();
    client.search(query, 10).await?;
    Ok(started.elapsed())
}

/// Generates distinct queries of six words.
fn queries(count: usize) -> Vec<String> {
    (77..).take(count).map(|seed| Words(seed).text(6)).collect()
}

fn verdict(time: Duration, goal: Duration) -> String {
    let verdict = if time <= goal { "within" } else { "MISSES" };
    format!(": {verdict} the goal of {goal:.0?}")
}

/// Returns the model's id and the dimensions of its vectors.
fn identify(model: &Path) -> Outcome<(String, usize)> {
    let output = Command::new(env!("CARGO_BIN_EXE_kitbag")).args(["model", "show"]).arg(model).output()?;
    let shown = String::from_utf8(output.stdout)?;
    let mut fields = shown.split_whitespace();
    match (fields.next(), fields.next().map(str::parse)) {
        (Some(id), Some(Ok(dimensions))) => Ok((id.to_owned(), dimensions)),
        _ => Err(format!("the model cannot be used: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Stores an arbitrary unit vector for every chunk.
async fn give_vectors(data: &Path, model: &str, dimensions: usize) -> Outcome<()> {
    let options = SqliteConnectOptions::new().filename(data.join("kitbag.sqlite"));
    let mut connection: SqliteConnection = options.connect().await?;
    let chunks: Vec<i64> = sqlx::query_scalar("SELECT id FROM chunks").fetch_all(&mut connection).await?;
    let mut random = Words(3);
    sqlx::query("BEGIN").execute(&mut connection).await?;
    for chunk in chunks {
        let numbers: Vec<f32> = (0..dimensions).map(|_| random.next_number() - 0.5).collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        let vector: Vec<u8> =
            numbers.into_iter().flat_map(|number| (number / length).to_le_bytes()).collect();
        sqlx::query("UPDATE chunks SET vector = ?, model = ? WHERE id = ?")
            .bind(vector)
            .bind(model)
            .bind(chunk)
            .execute(&mut connection)
            .await?;
    }
    sqlx::query("COMMIT").execute(&mut connection).await?;
    Ok(())
}

/// Pseudorandom words, the same in every run, with frequencies as in a natural language.
struct Words(u32);

impl Words {
    const VOCABULARY: f32 = 50_000.0;

    fn next_number(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(self.0 >> 16).unwrap_or_default()) / 65_536.0
    }

    fn text(&mut self, words: usize) -> String {
        // The logarithm of the rank is uniformly distributed: Zipf's law.
        let words: Vec<_> =
            (0..words).map(|_| format!("w{:.0}", Self::VOCABULARY.powf(self.next_number()))).collect();
        words.join(" ")
    }
}
