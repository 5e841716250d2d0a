//! Speed of search: for one user with many chunks, and for many users with few chunks each.
//!
//! The texts are ingested through the API by a server without a model. Their vectors are arbitrary, and are
//! written into the database while no server runs: embedding them would take hours. Queries are embedded
//! by the model.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;

use crate::Outcome;
use crate::api::{BATCH, Client, Document};
use crate::child::Server;
use crate::kitbag_server;
use crate::stats::percentile;

/// Chunks of each small user.
const CHUNKS_PER_SMALL_USER: usize = 500;
/// A document of this length is one chunk.
const WORDS_PER_DOCUMENT: usize = 120;
/// Searches per measurement.
const SEARCHES: usize = 200;

const LARGE_GOAL: Duration = Duration::from_millis(60);
const SMALL_GOAL: Duration = Duration::from_millis(20);

/// Prints how long searches take.
pub(crate) async fn measure(chunks: usize, users: usize, model: &Path) -> Outcome<()> {
    let data = tempfile::tempdir()?;
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
    let started = Instant::now();
    large.search("warm up", 10).await?;
    println!("  large user  first search {:.1?}", started.elapsed());
    let mut times = Vec::new();
    for search in 0..SEARCHES {
        times.push(timed(&mut large, search).await?);
    }
    report("large user", &mut times, LARGE_GOAL);

    let mut small = clients(&server, data.path(), users).await?;
    let (mut first, mut times) = (Vec::new(), Vec::new());
    for (number, client) in small.iter_mut().enumerate() {
        first.push(timed(client, number).await?);
    }
    for search in 0..SEARCHES.max(users) {
        times.push(timed(&mut small[search % users], search).await?);
    }
    report("small user", &mut times, SMALL_GOAL);
    println!("  small user  first search p50 {:.1?}", percentile(&mut first, 0.5).unwrap_or_default());
    println!("  memory      {} MiB", server.memory()? >> 10);
    Ok(())
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

async fn clients(server: &Server, data: &Path, users: usize) -> Outcome<Vec<Client>> {
    let mut clients = Vec::with_capacity(users);
    for user in 0..users {
        clients.push(Client::open(server, data, &format!("small-{user}")).await?);
    }
    Ok(clients)
}

async fn timed(client: &mut Client, search: usize) -> Outcome<Duration> {
    let query = Words(u32::try_from(search)?.wrapping_add(77)).text(6);
    let started = Instant::now();
    let (_, mode) = client.search(&query, 10).await?;
    let took = started.elapsed();
    if mode == "HYBRID" { Ok(took) } else { Err(format!("the search was {mode}, not HYBRID").into()) }
}

fn report(who: &str, times: &mut [Duration], goal: Duration) {
    let [median, p99] = [0.5, 0.99].map(|share| percentile(times, share).unwrap_or_default());
    let verdict = if median <= goal { "within" } else { "MISSES" };
    println!("  {who}  p50 {median:.1?}, p99 {p99:.1?}: {verdict} the goal of {goal:.0?}");
}

/// The model's id and the number of dimensions of its vectors.
fn identify(model: &Path) -> Outcome<(String, usize)> {
    let output = Command::new(env!("CARGO_BIN_EXE_kitbag")).args(["model", "show"]).arg(model).output()?;
    let shown = String::from_utf8(output.stdout)?;
    let mut fields = shown.split_whitespace();
    match (fields.next(), fields.next().map(str::parse)) {
        (Some(id), Some(Ok(dimensions))) => Ok((id.to_owned(), dimensions)),
        _ => Err(format!("the model cannot be used: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Writes an arbitrary unit vector for every chunk.
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

/// Pseudorandom words, the same in every run: few are frequent, many are rare, as in a language.
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
