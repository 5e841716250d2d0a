//! Speed of search: for one user with many chunks, and for many users with few chunks each.
//!
//! The texts are ingested through the API by a server without a model. Their vectors are arbitrary, and are
//! written into the database while no server runs: embedding them would take hours. Queries are embedded
//! by the model.

use std::fmt;
use std::fs;
use std::path::Path;
use std::pin::pin;
use std::process::Command;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::time::sleep;

use crate::Outcome;
use crate::api::{Client, Document};
use crate::child::Server;
use crate::database;
use crate::mixed;
use crate::profile::{self, By, Searches, per};
use crate::service::{Engine, Service, free_address};
use crate::stats::percentile;
use crate::words::words;

/// Documents of the large user at most: the default quota. Beyond it, each document has several chunks.
const MAX_DOCUMENTS: usize = 100_000;
/// Chunks per small user, each a document.
const CHUNKS_PER_SMALL_USER: usize = 500;
/// Words of a document of one chunk, and those that a document has more for each further chunk.
const WORDS_PER_DOCUMENT: usize = 120;
const WORDS_PER_FURTHER_CHUNK: usize = 165;
const WORDS_PER_TITLE: usize = 5;
/// Words per request.
const WORDS_PER_REQUEST: usize = 60_000;
/// Searches per measurement.
pub(crate) const SEARCHES: usize = 200;
/// Pause between searches of a small user while the large one ingests.
const PAUSE: Duration = Duration::from_millis(100);

const SMALL_GOAL: Duration = Duration::from_millis(10);
/// Goal for the memory of the server, in MiB.
const MEMORY_GOAL: u32 = 700;

/// Time limit for writing the large user's index to a file.
const FILE_TIMEOUT: Duration = Duration::from_mins(5);

/// Goals: maximum number of chunks, p50 of the large user, and duration of the first search.
const GOALS: [(usize, Duration, Duration); 2] = [
    (100_000, Duration::from_millis(8), Duration::from_millis(200)),
    (usize::MAX, Duration::from_millis(30), Duration::from_secs(1)),
];

/// Prints the duration of searches.
pub(crate) async fn measure(chunks: usize, users: usize, model: &Path, engine: Engine) -> Outcome<()> {
    let service = Service::create(engine, free_address()?)?;
    let goals = GOALS.into_iter().find(|(most, ..)| chunks <= *most);
    let (_, large_goal, first_goal) = goals.ok_or("there is a goal for each number of chunks")?;
    fill(&service, chunks, users).await?;
    let (id, dimensions) = identify(model)?;
    let chunks = database::store_vectors(&service, &id, dimensions).await? - users * CHUNKS_PER_SMALL_USER;
    println!(
        "{engine:?}: {chunks} chunks of one user, {CHUNKS_PER_SMALL_USER} of each of {users} others; their vectors \
         are arbitrary"
    );

    let model = model.to_str().ok_or("the model's path is no text")?;
    let server = service.start(&["--model", model])?;
    let mut large = open(&service, &server, "large").await?;
    println!("  large user  first search {:.1?}, by rows of the database", first_search(&mut large).await?);
    // Writing its file takes the time of the searches meanwhile.
    let per_chunk = wait_for_files(&service, chunks * dimensions, 1).await? / chunks.max(1) as u64;
    let queries = queries(SEARCHES);
    let first = Searches::run(&server, &mut large, &queries, By::Meaning).await?;
    let again = Searches::run(&server, &mut large, &queries, By::Meaning).await?;

    let mut small = clients(&service, &server, users).await?;
    let (mut first_times, mut times) = (Vec::new(), Vec::new());
    for (number, client) in small.iter_mut().enumerate() {
        first_times.push(timed(client, &queries[number % SEARCHES]).await?);
    }
    for search in 0..SEARCHES.max(users) {
        times.push(timed(&mut small[search % users], &queries[search % SEARCHES]).await?);
    }
    let memory = Memory::of(&server)?;
    drop(server);

    let server = service.start(&["--model", model])?;
    // The first search of all waits until the model is loaded.
    first_search(&mut open(&service, &server, "small-0").await?).await?;
    let mut large = open(&service, &server, "large").await?;
    let time = first_search(&mut large).await?;
    println!("  large user  first search {time:.1?}, by its file{}", verdict(time, first_goal));
    let from_file = Searches::run(&server, &mut large, &queries, By::Meaning).await?;
    let memory_from_file = Memory::of(&server)?;
    drop(server);

    let server = service.start(&["--model", "none"])?;
    let mut large = open(&service, &server, "large").await?;
    first_search(&mut large).await?;
    let by_words = Searches::run(&server, &mut large, &queries, By::Words).await?;
    profile::print(&first, &again, &by_words);
    for (searches, source) in [(&first, "rows"), (&from_file, "its file")] {
        let p50 = searches.at(0.5);
        println!("  large user  p50 {p50:.1?}, after a first search by {source}{}", verdict(p50, large_goal));
    }
    let median = percentile(&mut times, 0.5).unwrap_or_default();
    println!("  small user  p50 {median:.1?}{}", verdict(median, SMALL_GOAL));
    println!("  small user  first search p50 {:.1?}", percentile(&mut first_times, 0.5).unwrap_or_default());
    for (memory, source) in [(&memory, "rows, and of all small ones"), (&memory_from_file, "its file")] {
        println!("  memory      after searches of the large user by {source}: {memory}");
    }
    println!("  file        {per_chunk} bytes a chunk");
    drop(server);

    let all = per_chunk * (chunks + users * CHUNKS_PER_SMALL_USER) as u64;
    mixed::measure(&service, model, all / 4, users, &queries).await
}

/// Measures the first search of a client, with words that no other query contains.
pub(crate) async fn first_search(client: &mut Client) -> Outcome<Duration> {
    timed(client, "warm up").await
}

/// Waits until as many indexes of more than `bytes` each have been written to files. Returns the size of the largest, in
/// bytes.
pub(crate) async fn wait_for_files(service: &Service, bytes: usize, count: usize) -> Outcome<u64> {
    const DIGEST: usize = 64;

    let folder = service.data_of_only_process()?.join("search");
    let deadline = Instant::now() + FILE_TIMEOUT;
    while Instant::now() < deadline {
        let mut sizes = Vec::new();
        for file in fs::read_dir(&folder)? {
            let file = file?;
            if file.file_name().len() == DIGEST {
                sizes.push(file.metadata()?.len());
            }
        }
        sizes.retain(|size| *size > bytes as u64);
        if let Some(largest) = sizes.iter().max().filter(|_| sizes.len() >= count) {
            return Ok(*largest);
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err("the server wrote no files of the indexes".into())
}

/// Ingests the documents of all users by a server without a model, and prints what the large user's took.
async fn fill(service: &Service, chunks: usize, users: usize) -> Outcome<()> {
    let server = service.start(&["--model", "none"])?;
    let small_load = Load { documents: CHUNKS_PER_SMALL_USER, words: WORDS_PER_DOCUMENT };
    let mut small = clients(service, &server, users).await?;
    for (number, client) in small.iter_mut().enumerate() {
        ingest(client, &small_load.documents(number), None).await?;
        client.settled().await?;
    }
    let load = Load::of_large_user(chunks);
    let documents = load.documents(users);
    let mut large = open(service, &server, "large").await?;
    let (started, before) = (Instant::now(), server.processor_time()?);
    let ingesting = async {
        ingest(&mut large, &documents, None).await?;
        let stored = started.elapsed();
        large.settled().await?;
        Ok((stored, started.elapsed()))
    };
    let ((stored, searchable), mut times) = match small.first_mut() {
        Some(client) => with_searches(client, ingesting).await?,
        None => (ingesting.await?, Vec::new()),
    };
    let count = load.documents;
    let processor = per(server.processor_time()?.saturating_sub(before), count);
    println!("  ingest      {count} documents of {} words, by words alone", load.words);
    println!(
        "    {:.0} documents/s until search finds them; stored after {stored:.0?}, searchable after {searchable:.0?}",
        count as f64 / searchable.as_secs_f64()
    );
    println!("    processor time {processor:.1?} a document");
    let at = |times: &mut Vec<Duration>, share| percentile(times, share).unwrap_or_default();
    println!(
        "    a search of a small user meanwhile: p50 {:.1?}, p99 {:.1?}, longest {:.1?}",
        at(&mut times, 0.5),
        at(&mut times, 0.99),
        at(&mut times, 1.0)
    );
    drop(server);
    let text = bytes(&documents) + users * bytes(&small_load.documents(0));
    println!(
        "    disk {} MiB for {} MiB of text of all users, without vectors",
        database::size(service).await? >> 20,
        text >> 20
    );
    Ok(())
}

/// Awaits an operation while a client searches. Returns its result, and the durations of the searches.
async fn with_searches<T>(
    client: &mut Client,
    operation: impl Future<Output = Outcome<T>>,
) -> Outcome<(T, Vec<Duration>)> {
    let mut operation = pin!(operation);
    let mut times = Vec::new();
    for query in queries(SEARCHES).iter().cycle() {
        select! {
            result = &mut operation => return Ok((result?, times)),
            time = async { sleep(PAUSE).await; timed(client, query).await } => times.push(time?),
        }
    }
    unreachable!("the queries are repeated")
}

/// Memory of a server.
pub(crate) struct Memory {
    mebibytes: u32,
    /// Without mapped pages of files, which the system takes back when it needs memory.
    without_files: u32,
}

impl Memory {
    pub(crate) fn of(server: &Server) -> Outcome<Self> {
        Ok(Self { mebibytes: server.memory()? >> 10, without_files: server.anonymous_memory()? >> 10 })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mebibytes, without_files } = self;
        let verdict = if *without_files <= MEMORY_GOAL { "within" } else { "MISSES" };
        write!(
            formatter,
            "{mebibytes} MiB, {without_files} MiB without mapped pages of files: {verdict} the goal of {MEMORY_GOAL} MiB"
        )
    }
}

/// Documents of one user.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    documents: usize,
    /// Words of the text of each document.
    words: usize,
}

impl Load {
    /// Documents that have some `chunks` chunks in all.
    pub(crate) fn of_large_user(chunks: usize) -> Self {
        let per_document = chunks.div_ceil(MAX_DOCUMENTS).max(1);
        Self {
            documents: chunks / per_document,
            words: WORDS_PER_DOCUMENT + (per_document - 1) * WORDS_PER_FURTHER_CHUNK,
        }
    }

    /// Returns the documents; `user` is a different number for each user.
    pub(crate) fn documents(self, user: usize) -> Vec<Document> {
        let document = |number| {
            let seed = 2 * (user * MAX_DOCUMENTS + number);
            Document {
                url: format!("https://load.example/{number}"),
                title: words(seed, WORDS_PER_TITLE),
                text: words(seed + 1, self.words),
            }
        };
        (0..self.documents).map(document).collect()
    }
}

/// Ingests documents, into a collection if one is named; returns once they are durable.
pub(crate) async fn ingest(
    client: &mut Client,
    documents: &[Document],
    collection: Option<&str>,
) -> Outcome<()> {
    let words = documents.first().map_or(1, |first| first.text.split(' ').count());
    for batch in documents.chunks((WORDS_PER_REQUEST / words).max(1)) {
        client.ingest(batch, collection).await?;
    }
    Ok(())
}

fn bytes(documents: &[Document]) -> usize {
    documents.iter().map(|document| document.text.len()).sum()
}

pub(crate) async fn clients(service: &Service, server: &Server, users: usize) -> Outcome<Vec<Client>> {
    let mut clients = Vec::with_capacity(users);
    for user in 0..users {
        clients.push(open(service, server, &format!("small-{user}")).await?);
    }
    Ok(clients)
}

pub(crate) async fn open(service: &Service, server: &Server, user: &str) -> Outcome<Client> {
    Client::with_token(server, service.token(user)?).await
}

pub(crate) async fn timed(client: &mut Client, query: &str) -> Outcome<Duration> {
    let started = Instant::now();
    client.search(query, 10).await?;
    Ok(started.elapsed())
}

/// Generates distinct queries of six words.
pub(crate) fn queries(count: usize) -> Vec<String> {
    (0..count).map(|number| words(usize::MAX - number, 6)).collect()
}

/// Says whether a time is within its goal.
pub(crate) fn verdict(time: Duration, goal: Duration) -> String {
    let verdict = if time <= goal { "within" } else { "MISSES" };
    format!(": {verdict} the goal of {goal:.0?}")
}

/// Returns the model's id and the dimensions of its vectors.
pub(crate) fn identify(model: &Path) -> Outcome<(String, usize)> {
    let output = Command::new(env!("CARGO_BIN_EXE_kitbag")).args(["model", "show"]).arg(model).output()?;
    let shown = String::from_utf8(output.stdout)?;
    let mut fields = shown.split_whitespace();
    match (fields.next(), fields.next().map(str::parse)) {
        (Some(id), Some(Ok(dimensions))) => Ok((id.to_owned(), dimensions)),
        _ => Err(format!("the model cannot be used: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}
