//! Searches over a user's own documents and those of collections, beside the same documents in one holder.
//!
//! The vectors are arbitrary, as in `speed`.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::Outcome;
use crate::api::{Client, Document};
use crate::child::Server;
use crate::database;
use crate::profile::{By, Searches, per};
use crate::service::{Engine, Service, free_address};
use crate::speed::{
    Load, Memory, SEARCHES, first_search, identify, ingest, open, queries, verdict, wait_for_files,
};

/// User with all documents.
const ONE: &str = "one";
/// User with a tenth of them, and collections with the rest.
const MANY: &str = "many";
const OWN_SHARE: usize = 10;
/// Collections that one user may make.
const COLLECTIONS_PER_MAKER: usize = 20;

/// Goals for searches over several holders, and for their ratio to searches of one.
const P50_GOAL: Duration = Duration::from_millis(40);
const P99_GOAL: Duration = Duration::from_millis(120);
const FIRST_GOAL: Duration = Duration::from_secs(1);
const RATIO_GOAL: f64 = 1.5;

/// Size of an organisation in which a user's request finds out what they may read.
const COLLECTIONS_OF_OTHERS: usize = 1000;
const READERS_OF_EACH: usize = 10;
const READINGS: usize = 2000;
const READING_GOAL: Duration = Duration::from_micros(20);

/// Prints the duration of searches.
pub(crate) async fn measure(chunks: usize, collections: usize, model: &Path, engine: Engine) -> Outcome<()> {
    let service = Service::create(engine, free_address()?)?;
    let documents = Load::of_large_user(chunks).documents(0);
    fill(&service, &documents, collections).await?;
    let (id, dimensions) = identify(model)?;
    let stored = database::store_vectors(&service, &id, dimensions).await? / 2;
    println!(
        "{engine:?}: {stored} chunks of one user; and the same, a tenth of another user, the rest of {collections} \
         collections"
    );

    let model = model.to_str().ok_or("the model's path is no text")?;
    let server = start(&service, model)?;
    for user in [ONE, MANY] {
        let time = first_search(&mut open(&service, &server, user).await?).await?;
        println!("  {user:4}  first search {time:.1?}, by rows of the database");
    }
    let smallest = stored / (2 * collections.max(1)) * dimensions;
    wait_for_files(&service, smallest, collections + 2).await?;
    drop(server);

    let one = of_user(&service, model, ONE).await?;
    let many = of_user(&service, model, MANY).await?;
    println!("  {ONE:4}  {one}");
    println!("  {MANY:4}  {many}");
    println!("    first search{}", verdict(many.first, FIRST_GOAL));
    println!("    p50{}", verdict(many.searches.at(0.5), P50_GOAL));
    println!("    p99{}", verdict(many.searches.at(0.99), P99_GOAL));
    let ratio = many.searches.at(0.5).as_secs_f64() / one.searches.at(0.5).as_secs_f64();
    let within = if ratio <= RATIO_GOAL { "within" } else { "MISSES" };
    println!("    ratio of the p50 {ratio:.2}: {within} the goal of {RATIO_GOAL}");
    drop(service);
    measure_reading(engine).await
}

/// Searches of one user by files of indexes.
struct Measured {
    first: Duration,
    searches: Searches,
    memory: Memory,
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, searches, memory } = self;
        let (p50, p99, processor) = (searches.at(0.5), searches.at(0.99), searches.processor_time());
        write!(
            formatter,
            "first search {first:.1?}, by files; p50 {p50:.1?}, p99 {p99:.1?}, processor time {processor:.1?}; \
             memory {memory}"
        )
    }
}

/// Measures a user's searches, on a server that has just started.
async fn of_user(service: &Service, model: &str, user: &str) -> Outcome<Measured> {
    let server = start(service, model)?;
    // The first search of all waits until the model is loaded.
    first_search(&mut open(service, &server, "nobody").await?).await?;
    let mut client = open(service, &server, user).await?;
    let first = first_search(&mut client).await?;
    let searches = Searches::run(&server, &mut client, &queries(SEARCHES), By::Meaning).await?;
    Ok(Measured { first, searches, memory: Memory::of(&server)? })
}

/// Starts the server. Everyone may make collections.
fn start(service: &Service, model: &str) -> Outcome<Server> {
    service.start(&["--model", model, "--collections", "everyone"])
}

/// Ingests the documents twice, by a server without a model.
async fn fill(service: &Service, documents: &[Document], collections: usize) -> Outcome<()> {
    let server = start(service, "none")?;
    let mut one = open(service, &server, ONE).await?;
    ingest(&mut one, documents, None).await?;
    let (own, shared) = documents.split_at(documents.len() / OWN_SHARE);
    let mut many = open(service, &server, MANY).await?;
    ingest(&mut many, own, None).await?;
    let parts = shared.chunks(shared.len().div_ceil(collections.max(1)).max(1));
    for (number, part) in parts.enumerate() {
        let mut maker = maker_of(service, &server, number).await?;
        let id = format!("collection-{number}");
        maker.make_collection(&id, &[MANY.to_owned()]).await?;
        ingest(&mut maker, part, Some(&id)).await?;
        maker.settled_in(&id).await?;
    }
    one.settled().await?;
    many.settled().await
}

/// Opens a connection of the user who makes the collection with this number.
async fn maker_of(service: &Service, server: &Server, number: usize) -> Outcome<Client> {
    open(service, server, &format!("maker-{}", number / COLLECTIONS_PER_MAKER)).await
}

/// Prints what a search of a user without documents takes, on a server without collections and on one with many.
async fn measure_reading(engine: Engine) -> Outcome<()> {
    let service = Service::create(engine, free_address()?)?;
    let server = start(&service, "none")?;
    let without = reading(&service, &server).await?;
    for number in 0..COLLECTIONS_OF_OTHERS {
        let readers: Vec<_> =
            (0..READERS_OF_EACH).map(|reader| format!("reader-{number}-{reader}")).collect();
        let mut maker = maker_of(&service, &server, number).await?;
        maker.make_collection(&format!("collection-{number}"), &readers).await?;
    }
    let with = reading(&service, &server).await?;
    println!(
        "  what a caller may read, among {COLLECTIONS_OF_OTHERS} collections with {READERS_OF_EACH} readers each: processor \
         time of a search of nothing {without:.1?}, and {with:.1?} with these{}",
        verdict(with.saturating_sub(without), READING_GOAL)
    );
    Ok(())
}

/// Processor time of a search of a user who has nothing and may read nothing.
async fn reading(service: &Service, server: &Server) -> Outcome<Duration> {
    let mut client = open(service, server, "nobody").await?;
    first_search(&mut client).await?;
    let before = server.processor_time()?;
    for _ in 0..READINGS {
        first_search(&mut client).await?;
    }
    Ok(per(server.processor_time()?.saturating_sub(before), READINGS))
}
